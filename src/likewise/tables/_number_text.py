"""Columns of text that are numbers but for a few cells, or but for how they are written."""

from __future__ import annotations

import re

from likewise._runtime.arrays import Array
from likewise._runtime.text import quote

_MOST = 0.9  # of the cells that are not empty
_MAX_CODES, _MAX_CODE_LENGTH = 20, 4
_NO_CODES = {"na", "nan", "nil", "none", "null", "unk", "inf", "miss"}
_MAX_LENGTH = 40  # characters of a number
_PLAIN = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
_GROUPED = r"\d{1,3}(?:[ '’.,\u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?"  # thousands, and decimals
_FORMATTED = re.compile(
    rf"\s*[+\-−]?\s?[$€£¥]?\s?[+\-−]?(?:{_GROUPED}|\d+[.,]?\d*|[.,]\d+)\s?[%‰$€£¥]?\s*"
)


def why_not_numbers(cells: Array) -> str | None:
    """Say why a column of text is no column of numbers, if it was most likely meant to be one.

    At least 90 % of the cells are numbers then. A column of few short codes, such as 1, 2 and 3B,
    is text.

    Parameters
    ----------
    cells : array of str and None
        A column in which at least one cell is no number.

    Returns
    -------
    str or None
        What was found and what to do, to follow the name of the column.
    """
    odd, formatted = [], []
    for row, cell in enumerate(cells):
        if cell is not None and not _PLAIN.fullmatch(cell):
            odd.append(row)
            if _is_formatted(cell):
                formatted.append(row)
            elif len(odd) - len(formatted) > (1 - _MOST) * len(cells):
                return None  # most columns of text, long before their end
    n_present = sum(cell is not None for cell in cells)
    if n_present - len(odd) + len(formatted) < _MOST * n_present:
        return None
    if formatted:
        row = formatted[0]
        return (
            f"looks like numbers with a sign or separator, such as {quote(cells[row])} in row "
            f"{row + 1}: write them with digits and a decimal point only"
        )
    words = {cell for cell in cells if cell is not None}
    if not odd or _are_codes(words):
        return None
    row = odd[0]
    found = f"{quote(cells[row])} in row {row + 1} is none"
    if len(odd) > 1:
        found = f"{len(odd)} are none, the first of them {quote(cells[row])} in row {row + 1}"
    return (
        f"has numbers in {n_present - len(odd)} of {n_present} cells, but {found}: correct such "
        "cells, empty them and use impute=True (--impute)"
    )


def _is_formatted(cell: str) -> bool:
    return len(cell) <= _MAX_LENGTH and _FORMATTED.fullmatch(cell) is not None


def _are_codes(words: set[str]) -> bool:
    if len(words) > _MAX_CODES or any(word.lower() in _NO_CODES for word in words):
        return False
    return all(word.isalnum() and len(word) <= _MAX_CODE_LENGTH for word in words)

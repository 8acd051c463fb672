"""Tables of text: which encoding and which separator they have, and whether rows are whole."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from likewise._runtime.validation import pluralize, warn_user
from likewise.datasets._sources import Source

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = ",;\t|"
_BLOCK = 2**20
_SAMPLE_LINES = 20
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_PARSER_PREFIX = "Error tokenizing data. C error: "  # of pandas, for its developers
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def read_text(source: Source, *, keep_na: bool = False) -> pd.DataFrame:
    """Return the table; raise a ValueError for rows with more or fewer cells than names."""
    import pandas as pd

    encoding, sample, separator = _layout(source)
    if encoding == "cp1252":
        warn_user(f"{source.where} is not UTF-8 text and is read as Windows-1252.")
    source.stream.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the first line
        try:
            frame = pd.read_csv(
                source.stream,
                sep=separator,
                decimal=_decimal_sign(sample, separator),
                encoding=encoding,
                index_col=False,
                keep_default_na=not keep_na,
                na_values=[""],
                low_memory=False,  # in parts, some labels would be numbers and others text
            )
        except pd.errors.ParserWarning:
            raise ValueError("its rows have more cells than its first line has names") from None
        except pd.errors.ParserError as error:
            source.stream.seek(0)
            _check_lengths(source.stream, encoding, separator, _width(sample, separator))
            raise ValueError(str(error).removeprefix(_PARSER_PREFIX)) from None
    # A row with too few cells has none in the last column: only then, count them.
    if len(frame.columns) > 1 and frame.iloc[:, -1].isna().any():
        source.stream.seek(0)
        _check_lengths(source.stream, encoding, separator, len(frame.columns))
    return frame


def read_cells(source: Source, positions: Sequence[int]) -> pd.DataFrame:
    """Return some columns, by their positions, with every cell as the text that the file has.

    Whether the table is whole, `read_text` says, which is called first.
    """
    import pandas as pd

    encoding, _, separator = _layout(source)
    source.stream.seek(0)
    return pd.read_csv(
        source.stream,
        sep=separator,
        encoding=encoding,
        index_col=False,
        usecols=list(positions),
        dtype=str,
        na_filter=False,
        low_memory=False,
    )


def _layout(source: Source) -> tuple[str, str, str]:
    """Return the encoding, the first lines and the separator of a table of text."""
    encoding = detect_encoding(source.stream)
    if encoding is None:
        raise ValueError("it is not text in UTF-8, UTF-16 or Windows-1252")
    sample = _sample(source.stream, encoding)
    return encoding, sample, "\t" if source.format == "tsv" else detect_separator(sample)


def decoded(source: Source) -> str | None:
    """Return a whole text; None if its encoding is none of those that are known."""
    encoding = detect_encoding(source.stream)
    if encoding is None:
        return None
    if encoding == "cp1252":
        warn_user(f"{source.where} is not UTF-8 text and is read as Windows-1252.")
    source.stream.seek(0)
    return source.stream.read().decode(encoding)


def detect_encoding(stream: BinaryIO) -> str | None:
    """Return the encoding of a text; None if it is none of those that are known.

    A byte order mark decides; else zero bytes at every other place mean UTF-16. Text that is valid
    UTF-8 is that, and other text is Windows-1252, which contains Latin-1.
    """
    stream.seek(0)
    begin = stream.read(_BLOCK)
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if begin.startswith(mark):
            return encoding if _decodes(stream, encoding) else None
    candidates = ["utf-8", "cp1252"]
    if begin[1:200:2].count(0) > len(begin[1:200:2]) / 2:
        candidates = ["utf-16-le"]
    elif begin[0:200:2].count(0) > len(begin[0:200:2]) / 2:
        candidates = ["utf-16-be"]
    return next((name for name in candidates if _decodes(stream, name)), None)


def _decodes(stream: BinaryIO, encoding: str) -> bool:
    """Return whether all of it is text: decodable, and in Windows-1252 without control codes."""
    decoder = codecs.getincrementaldecoder(encoding)()
    stream.seek(0)
    try:
        while block := stream.read(_BLOCK):
            if _CONTROL.search(decoder.decode(block)) and encoding == "cp1252":
                return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def detect_separator(text: str) -> str:
    """Return what separates cells: a comma, a semicolon, a tab or a bar.

    It occurs in the first line, outside quotes; if several do, first those that occur equally often
    in all lines of the sample, then the most frequent one.
    """
    bare = re.split(r"[\r\n]+", re.sub('"[^"]*"', "", text).strip("\r\n"))[:_SAMPLE_LINES]

    def rank(separator: str) -> tuple[bool, int]:
        counts = [line.count(separator) for line in bare]
        return counts[0] > 0 and len(set(counts)) == 1, counts[0]

    return max(SEPARATORS, key=rank)


def separator_hint(names: Sequence[str]) -> str:
    """Say so if there is one column whose name looks like several with another separator."""
    if len(names) != 1 or re.fullmatch(r"[\w.-]*", names[0]):
        return ""
    return (
        "; it has a single column: cells are separated by a comma, a semicolon, a tab or a bar, "
        "and its first line has none of these"
    )


def _decimal_sign(text: str, separator: str) -> str:
    """Return a comma where cells are separated by semicolons, or hold numbers with one."""
    if separator in ",;":
        return "," if separator == ";" else "."
    rows = itertools.islice(csv.reader(io.StringIO(text), delimiter=separator), _SAMPLE_LINES)
    try:
        return "," if any(_DECIMAL_COMMA.fullmatch(cell) for row in rows for cell in row) else "."
    except csv.Error:  # pandas says what is wrong
        return "."


def _sample(stream: BinaryIO, encoding: str) -> str:
    stream.seek(0)
    return codecs.getincrementaldecoder(encoding)().decode(stream.read(_BLOCK))


def _width(text: str, separator: str) -> int:
    """Return the number of names in the first line."""
    return len(next(filter(None, csv.reader(io.StringIO(text), delimiter=separator))))


def _check_lengths(stream: BinaryIO, encoding: str, separator: str, width: int) -> None:
    """Raise a ValueError for the first row with more or fewer cells than there are columns."""
    text = io.TextIOWrapper(stream, encoding=encoding, newline="")
    try:
        for cells in (rows := csv.reader(text, delimiter=separator)):
            if cells and len(cells) != width:
                raise ValueError(
                    f"line {rows.line_num} has {pluralize(len(cells), 'cell')}, but there are "
                    f"{pluralize(width, 'column')}"
                )
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num}: {error}") from None
    finally:
        text.detach()

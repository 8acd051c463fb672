"""The choice of an adapter, in a sentence."""

from __future__ import annotations

from typing import Protocol

from likewise.adapter._candidate import IDENTITY

MIN_JUDGEMENTS = 50  # with fewer, embeddings are kept as they are


class _Described(Protocol):
    @property
    def noun(self) -> str: ...

    @property
    def measure(self) -> str: ...

    @property
    def caution(self) -> float: ...

    def __len__(self) -> int: ...


def describe_choice(
    judgements: _Described,
    chosen: str,
    weight: float,
    gain: float,
    margin: float,
    needed: int | None,
) -> str:
    """Return what was gained, or why embeddings are kept as they are.

    `margin` is what the choice asks of the gain: a number of standard errors, `caution`.
    """
    n = len(judgements)
    plural = "queries" if judgements.noun == "query" else f"{judgements.noun}s"
    how_many = f"{n} {judgements.noun if n == 1 else plural}"
    if chosen != IDENTITY:
        # The weight is limited by the number of judgements.
        limited = "" if gain > margin else "; a larger weight exceeds that, but needs more of them"
        return (
            f"Adapted ({chosen}, weight {weight:g}): on judged items that were held out, the "
            f"{judgements.measure} rises by {gain:.3f} ± {margin:.3f} ({judgements.caution:g} "
            f"standard errors), from {how_many}{limited}."
        )
    if n < MIN_JUDGEMENTS:
        return (
            f"Keep your embeddings: {how_many} cannot show a gain; at least {MIN_JUDGEMENTS} are "
            "needed."
        )
    advice = "no map was seen to help"
    if needed is not None:
        advice = f"about {needed} would show the gain that is seen"
    return f"Keep your embeddings: no gain shown with {how_many}; {advice}."

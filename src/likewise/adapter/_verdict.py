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

    def __len__(self) -> int: ...


def describe_choice(
    judgements: _Described,
    chosen: str,
    weight: float,
    gain: float,
    interval: tuple[float, float],
    needed: int | None,
) -> str:
    """Return what was gained, or why embeddings are kept as they are."""
    n = len(judgements)
    plural = "queries" if judgements.noun == "query" else f"{judgements.noun}s"
    how_many = f"{n} {judgements.noun if n == 1 else plural}"
    if chosen != IDENTITY:
        low, high = interval
        return (
            f"Adapted ({chosen}, weight {weight:g}): on items not seen, the {judgements.measure} "
            f"rises by {gain:.3f} ({low:.3f} to {high:.3f} with 95% confidence), from {how_many}."
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

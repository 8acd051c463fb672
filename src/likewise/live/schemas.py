"""What the service reads and writes, as OpenAPI describes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StrictBool

__all__ = ["JudgementIn", "JudgementOut"]

ItemId = Annotated[str, Field(min_length=1, max_length=512)]
_EXAMPLE: dict[str, Any] = {
    "id": "0b8e7c1e-3f0f-4b5c-9a44-0f5a4f1d2c3b",
    "left": "17",
    "right": "42",
    "answer": "same",
}


class JudgementIn(BaseModel):
    """A judgement; the same id again is no second event."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})
    id: UUID
    left: ItemId
    right: ItemId
    answer: Literal["same", "different", "unsure"]


class JudgementOut(BaseModel):
    """An event of the log."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                _EXAMPLE | {"number": 1, "kind": "judgement", "annotator": "ann", "time": 1.7e9}
            ]
        }
    )
    number: int
    kind: Literal["judgement", "undo"]
    id: str
    left: str
    right: str
    answer: str
    annotator: str
    time: float


class UndoOut(JudgementOut):
    """The event that undid a judgement, and whether this request did so or an earlier one."""

    created: StrictBool


class Events(BaseModel):
    """Events in order, and the number to ask after for more."""

    events: list[JudgementOut]
    last: int


class ShownItem(BaseModel):
    """What is shown of an item: `parts` of a text or `cells` of a row, with differences marked.

    Where something is not shown or not compared, `notes` say so in sentences.
    """

    model_config = ConfigDict(extra="allow")
    id: str
    kind: Literal["row", "text", "image"]
    notes: list[str] | None = None


class NextPair(BaseModel):
    """The pair to judge. Scores are not shown.

    Without a pair, all were judged (`done`), or those that are left wait for the answers of others.
    """

    done: StrictBool
    kind: Literal["row", "text", "image"] | None = None
    left: ShownItem | None = None
    right: ShownItem | None = None


class PairsIn(BaseModel):
    """Pairs of items."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"pairs": [["17", "42"]]}]}
    )
    pairs: Annotated[list[tuple[ItemId, ItemId]], Field(min_length=1, max_length=10_000)]


class Distances(BaseModel):
    """Distances of pairs, in order."""

    distances: list[float]
    judgements: int


class ItemIn(BaseModel):
    """An item, and how many neighbours of it."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"item": "17", "k": 10}]}
    )
    item: ItemId
    k: Annotated[int, Field(ge=1, le=100)] = 10


class Neighbors(BaseModel):
    """Neighbours, the nearest first."""

    items: list[str]
    distances: list[float]


class ItemsIn(BaseModel):
    """Items to transform."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"items": ["17", "42"]}]}
    )
    items: Annotated[list[ItemId], Field(min_length=1, max_length=1000)]


class Vectors(BaseModel):
    """Vectors under the metric: their Euclidean distance is that of the metric."""

    vectors: list[list[float]]


class SessionIn(BaseModel):
    """A token, for a cookie."""

    model_config = ConfigDict(extra="forbid")
    token: Annotated[str, Field(min_length=1, max_length=512)]


class Health(BaseModel):
    """Whether the service is ready."""

    ready: StrictBool
    candidates: StrictBool
    storage: Literal["ok", "failing"]
    learning: Literal["ok", "failing"]
    version: str


class Problem(BaseModel):
    """What was wrong, in a sentence."""

    detail: str

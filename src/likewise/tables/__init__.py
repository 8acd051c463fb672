"""Tables with text and gaps: encoding them as numbers, and models that accept them as they are."""

from likewise.tables._encoder import TableEncoder
from likewise.tables._judgements import PairJudgements, judge_pairs
from likewise.tables._mapping import map_table, nearest_rows
from likewise.tables._model import TableModel

__all__ = [
    "PairJudgements",
    "TableEncoder",
    "TableModel",
    "judge_pairs",
    "map_table",
    "nearest_rows",
]

"""Tests, intervals and folds for comparisons of methods; nothing here knows a learner."""

from likewise.statistics.decision import Decision, decide
from likewise.statistics.folds import rows_to_test, stratified_folds
from likewise.statistics.sign_flip import SignFlipTest, sign_flip_max_test

__all__ = [
    "Decision",
    "SignFlipTest",
    "decide",
    "rows_to_test",
    "sign_flip_max_test",
    "stratified_folds",
]

"""The papers' tables and figures, declared: `reproduce` runs one and puts ours beside theirs."""

from likewise.experiments._experiment import (
    Experiment,
    Figure,
    Measure,
    Published,
    Size,
    Trial,
)
from likewise.experiments._registry import EXPERIMENTS
from likewise.experiments._reproduce import Reproduction, reproduce
from likewise.experiments._tables import Table, markdown, tables

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Figure",
    "Measure",
    "Published",
    "Reproduction",
    "Size",
    "Table",
    "Trial",
    "markdown",
    "reproduce",
    "tables",
]

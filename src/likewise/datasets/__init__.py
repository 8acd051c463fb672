"""Data sets by name, tables from files, and what images of digits need before a metric."""

from likewise.datasets._columns import RawTable
from likewise.datasets._dataset import Dataset
from likewise.datasets._images import deskew
from likewise.datasets._labels import read_labels
from likewise.datasets._load import load, names
from likewise.datasets._pair_tables import read_pairs
from likewise.datasets._tables import Table, read_columns, read_table
from likewise.datasets._writing import write_table

__all__ = [
    "Dataset",
    "RawTable",
    "Table",
    "deskew",
    "load",
    "names",
    "read_columns",
    "read_labels",
    "read_pairs",
    "read_table",
    "write_table",
]

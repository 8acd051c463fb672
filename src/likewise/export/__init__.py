"""Learned metrics where the vectors are: files, vector indexes and databases.

Some targets need what comes with ``pip install "likewise[export]"``; they say so on use.
"""

from likewise.base import AffineMap
from likewise.export.faiss_index import faiss_index, write_faiss
from likewise.export.numpy_file import read_numpy, write_numpy
from likewise.export.onnx_file import write_onnx
from likewise.export.pgvector import install_pgvector, pgvector_sql
from likewise.export.plans import Plan, Plans, plans
from likewise.export.query_only import QueryOnly
from likewise.export.sentence_transformers_folder import write_sentence_transformers
from likewise.export.shortlist import ShortlistRecall, rerank, shortlist_recall
from likewise.export.targets import TARGETS, Target, export

__all__ = [
    "TARGETS",
    "AffineMap",
    "Plan",
    "Plans",
    "QueryOnly",
    "ShortlistRecall",
    "Target",
    "export",
    "faiss_index",
    "install_pgvector",
    "pgvector_sql",
    "plans",
    "read_numpy",
    "rerank",
    "shortlist_recall",
    "write_faiss",
    "write_numpy",
    "write_onnx",
    "write_sentence_transformers",
]

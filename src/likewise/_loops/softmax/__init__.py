"""Soft nearest neighbours: softmax of negative squared distances."""

from likewise._loops.backend import BACKEND

if BACKEND == "native":
    from likewise._loops.softmax.compiled import near_softmax, softmax_rows
else:
    from likewise._loops.softmax.reference import near_softmax, softmax_rows

__all__ = ["near_softmax", "softmax_rows"]

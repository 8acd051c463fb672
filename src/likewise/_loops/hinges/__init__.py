"""Sums of hinge losses over triplets, as in the objective and the energy of LMNN."""

from likewise._loops.backend import BACKEND

if BACKEND == "native":
    from likewise._loops.hinges.compiled import (
        group_hinges,
        invaded_hinges,
        invader_hinges,
    )
else:
    from likewise._loops.hinges.reference import (
        group_hinges,
        invaded_hinges,
        invader_hinges,
    )

__all__ = [
    "group_hinges",
    "invaded_hinges",
    "invader_hinges",
]

"""Sums of hinge losses over triplets, as in the objective and the energy of LMNN."""

from likewise._loops.backend import BACKEND

if BACKEND == "native":
    from likewise._loops.hinges.compiled import anchor_hinges, group_hinges, impostor_hinges
else:
    from likewise._loops.hinges.reference import anchor_hinges, group_hinges, impostor_hinges

__all__ = ["anchor_hinges", "group_hinges", "impostor_hinges"]

"""L of an online metric learner, computed from its state on demand."""

from __future__ import annotations

from dataclasses import dataclass

from likewise import _files
from likewise._runtime.arrays import FloatArray
from likewise._runtime.invariants import require_array, require_count, require_number
from likewise._runtime.tensors import Tensor
from likewise._runtime.threads import single_threaded_blas
from likewise.metric import canonical_components


@_files.record
@dataclass
class ComponentsCache:
    """L after the given number of updates: computed from the state, not part of it."""

    n_updates: int
    scale: float
    components: FloatArray

    def check(self) -> None:
        """Raise a ValueError if the fields are not valid."""
        require_count(self.n_updates, least=-1)
        require_number(self.scale)
        require_array(self.components, None, None)

    def is_valid(self, n_updates: int, scale: float, dtype: str) -> bool:
        """Return whether L is that of the model after so many updates, at this scale."""
        return (
            self.n_updates == n_updates
            and self.scale == scale
            and self.components.dtype.name == dtype
        )

    def store(self, n_updates: int, scale: float, matrix: FloatArray | Tensor, dtype: str) -> None:
        """Compute L from M of scaled differences, where M is."""
        with single_threaded_blas():
            components = canonical_components(matrix) * scale
        self.components = components.astype(dtype)
        self.n_updates, self.scale = n_updates, scale

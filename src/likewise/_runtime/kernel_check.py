"""Whether a kernel of Triton may be used on a GPU: where it was checked, and only there."""

from __future__ import annotations

import importlib.util
import threading
import warnings
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

from likewise._runtime.tensors import is_out_of_memory

# Tensor cores of earlier GPUs are not covered by the error bounds of the kernels.
_MIN_CAPABILITY = (8, 0)


class KernelCheck:
    """A kernel that is compared with plain PyTorch before its first use on a device.

    Parameters
    ----------
    name : str
        What the kernel computes, for the warning.
    agrees : callable
        ``agrees(device, *variant)`` computes a small problem on the device by the kernel and by
        PyTorch, and returns whether the results agree.
    """

    def __init__(self, name: str, agrees: Callable[..., bool]) -> None:
        self.name, self.agrees = name, agrees
        self._passed: dict[tuple[Hashable, ...], bool] = {}
        self._lock = threading.Lock()

    def passes(self, device: Any, *variant: Hashable) -> bool:
        """Return whether the kernel may be used; the first call per device and variant checks it.

        A kernel that cannot be compiled, or returns something else, gives one RuntimeWarning. Where
        memory does not suffice for the check, the next call checks again.
        """
        if not has_kernels(device):
            return False
        key = (device.type, device.index, *variant)
        with self._lock:
            if key not in self._passed:
                try:
                    self._passed[key] = self._check(device, variant)
                except MemoryError:  # says nothing about the kernel
                    return False
            return self._passed[key]

    def _check(self, device: Any, variant: tuple[Hashable, ...]) -> bool:
        import torch

        try:
            # Problems are drawn on the processor, whatever the default device of tensors is.
            with torch.device("cpu"):
                agrees = self.agrees(device, *variant)
            problem = None if agrees else "its result differs"
        except Exception as error:  # compilers and drivers raise anything
            if isinstance(error, MemoryError) or is_out_of_memory(error):
                raise MemoryError from error
            problem = f"it failed with {type(error).__name__}: {str(error).strip()[:200]}"
        if problem is not None:
            warnings.warn(
                f"The Triton kernel for {self.name} is not used on {device}, since {problem}; "
                "plain PyTorch computes the same, more slowly.",
                RuntimeWarning,
                stacklevel=3,
            )
        return problem is None


def has_kernels(device: Any) -> bool:
    """Return whether kernels can be tried: Triton is there, and an NVIDIA GPU of 2020 or later."""
    if device.type != "cuda" or not _has_triton():
        return False
    import torch

    return torch.version.hip is None and torch.cuda.get_device_capability(device) >= _MIN_CAPABILITY


@cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None

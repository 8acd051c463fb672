"""Tensors of PyTorch as input and output, without importing it for those who have none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from likewise._runtime.configuration import configured_device, max_working_bytes
from likewise._runtime.memory import UNCHECKED_BYTES, format_sizes, require_memory

Tensor: TypeAlias = Any
"""A tensor of PyTorch, on any device."""

# Elements of a tile of products: 64 MiB of float32 on a CPU, 1 GiB on a GPU.
_CPU_TILE, _GPU_TILE = 1 << 24, 1 << 28
# Bytes that one element of a tile may take: itself, its mask, and the indices of a candidate.
_BYTES_PER_ELEMENT = 40

_memory_is_watched = ContextVar("_memory_is_watched", default=False)


def is_tensor(X: Any) -> bool:
    """Return whether X is a tensor; nobody has one who has not imported torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def import_torch() -> Any:
    """Return the module torch, or say how to install it."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            f"device={configured_device()!r} is set, but PyTorch is not installed: "
            "pip install 'likewise[gpu]'."
        ) from None
    return torch


def require_device() -> None:
    """Raise unless the GPU that is set, if one is, can be used."""
    device = configured_device()
    if device not in ("auto", "cpu"):
        _require_cuda(import_torch(), device)


def to_numpy(X: Any) -> Any:
    """Return a tensor as an array, without its gradient; anything else as it is."""
    if not is_tensor(X):
        return X
    import torch

    X = X.detach()
    if X.dtype == torch.bfloat16:  # NumPy has no such type
        X = X.float()
    return (X.to_dense() if X.layout != torch.strided else X).cpu().numpy()


def on_device(X: Any, name: str) -> Tensor | None:
    """Return the rows X as a tensor where they are to be worked on, or None for NumPy.

    The device is that of the configuration, or by default that of a tensor. A gradient of X is not
    followed. float32 and float64 are kept, float16 and bfloat16 become float32, integers float64.
    """
    device = configured_device()
    if device == "cpu" or (device == "auto" and not is_tensor(X)):
        return None
    require_device()
    torch = import_torch()
    if not is_tensor(X):
        X = torch.from_numpy(np.ascontiguousarray(X))
    if X.layout != torch.strided:
        raise ValueError(
            f"{name} is a tensor of layout {X.layout}, but only dense tensors are allowed: "
            f"{name}.to_dense() makes one."
        )
    X = X.detach()
    if X.dtype in (torch.float16, torch.bfloat16):
        X = X.float()
    elif not X.is_complex() and X.dtype not in (torch.float32, torch.float64):
        X = X.double()
    return X.to(X.device if device == "auto" else device).contiguous()


def as_given(result: Any, given: Any) -> Any:
    """Return a result as a tensor on the device of `given` if that is one, else as an array."""
    if not is_tensor(given):
        return to_numpy(result)
    import torch

    if is_tensor(result):
        return result.to(given.device)
    return torch.as_tensor(np.asarray(result), device=given.device)


def tensor_like(values: Any, like: Tensor, dtype: Any = None) -> Tensor:
    """Return values as a tensor on the device of `like`, of its type unless another is given."""
    import torch

    return torch.as_tensor(values, dtype=dtype or like.dtype, device=like.device)


def numpy_dtype(X: Any) -> Any:
    """Return the type of an array or tensor as NumPy names it."""
    return np.dtype(str(X.dtype).removeprefix("torch.")) if is_tensor(X) else X.dtype


def require_same_device(first: Any, second: Any, names: tuple[str, str]) -> None:
    """Raise if two tensors are on different devices, or only one of both is a tensor."""
    found = [
        f"{name} is a tensor on {X.device}" if is_tensor(X) else f"{name} is no tensor"
        for X, name in zip((first, second), names, strict=True)
    ]
    if is_tensor(first) != is_tensor(second) or (
        is_tensor(first) and first.device != second.device
    ):
        raise ValueError(
            f"{found[0]} and {found[1]}, but both must be arrays, or tensors on one device."
        )


def require_given_together(first: Any, second: Any, names: tuple[str, str]) -> None:
    """Raise the same for rows as they were given, unless they go to the device that is set."""
    if configured_device() == "auto":
        require_same_device(first, second, names)


def free_device_memory(device: Any) -> int | None:
    """Return the free bytes of a GPU, with those that PyTorch has reserved; None for a CPU."""
    if device.type != "cuda":
        return None
    import torch

    free, _ = torch.cuda.mem_get_info(device)
    # `memory_reserved` flattens all statistics, which takes half a millisecond.
    held = torch.cuda.memory.memory_stats_as_nested_dict(device)
    reserved, allocated = (
        held.get(name, {}).get("all", {}).get("current", 0)
        for name in ("reserved_bytes", "allocated_bytes")
    )
    return int(free + reserved - allocated)


def require_memory_on(device: Any, n_bytes: float, purpose: str, advice: str) -> None:
    """Raise MemoryError if the device of a tensor has less memory than will be allocated."""
    free = free_device_memory(device)
    if free is None:
        return require_memory(n_bytes, purpose, advice)
    limit = max_working_bytes()
    allowed = free if limit is None else min(free, limit)
    if n_bytes > max(allowed, UNCHECKED_BYTES):
        found = f"are free on {device}" if allowed == free else "are allowed by max_memory"
        needed, limit_text = format_sizes(n_bytes, allowed)
        raise MemoryError(f"{purpose} needs about {needed}, but {limit_text} {found}; {advice}.")
    return None


def tile_elements(device: Any) -> int:
    """Return how many products a tile may have, on this device and within `max_memory`."""
    most = _GPU_TILE if device.type == "cuda" else _CPU_TILE
    known = [n for n in (free_device_memory(device), max_working_bytes()) if n is not None]
    if known:
        most = min(most, min(known) // _BYTES_PER_ELEMENT)
    return max(most, 1 << 16)


@contextmanager
def device_memory_errors(owner: str, last_resort: str = "use device='cpu'") -> Iterator[None]:
    """Turn errors about the memory of a GPU into a MemoryError of one sentence.

    Nested in another one it leaves that to it: the sentence is about what the user called.
    """
    if _memory_is_watched.get():
        yield
        return
    token = _memory_is_watched.set(True)
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        wanted = next((part for part in str(error).split(". ") if "allocate" in part), "").strip()
        wanted = wanted.replace("CUDA out of memory.", "").strip().rstrip(".")
        raise MemoryError(
            f"{owner} ran out of the memory of the GPU"
            + (f" ({wanted[0].lower() + wanted[1:]})" if wanted else "")
            + "; take fewer rows or float32, set a lower max_memory for smaller tiles, or "
            f"{last_resort}."
        ) from error
    finally:
        _memory_is_watched.reset(token)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the memory of a GPU did not suffice: for PyTorch, the driver or a library."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(error, RuntimeError):
        return False
    said = str(error)
    return (
        isinstance(error, torch.OutOfMemoryError)
        or ("CUDA" in said and "out of memory" in said)
        or "_STATUS_ALLOC_FAILED" in said  # of cuBLAS, cuSOLVER and others
    )


def _require_cuda(torch: Any, device: str) -> None:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    number = int(device.partition(":")[2] or 0)
    if number >= count:
        found = f"{count} CUDA devices" if count > 1 else ("one" if count else "no CUDA device")
        raise RuntimeError(
            f"device={device!r} is set, but PyTorch finds {found}; device='cpu' uses the compiled "
            "loops."
        )

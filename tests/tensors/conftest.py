"""One thread: tests run side by side, and tensors are small."""

import importlib.util
import os

import pytest

from likewise._runtime import tensors

if importlib.util.find_spec("torch") is not None and importlib.util.find_spec("triton") is not None:
    import torch

    # Triton reads it when it is imported: without a GPU, its kernels run in the interpreter.
    if not torch.cuda.is_available():
        os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def device_is_set(monkeypatch):
    """A device that is set: the GPU, or the processor in its stead."""
    from on_device import DEVICE_TO_SET

    monkeypatch.setattr(tensors, "configured_device", lambda: DEVICE_TO_SET)
    monkeypatch.setattr(tensors, "_require_cuda", lambda torch, device: None)


@pytest.fixture
def plain_torch(monkeypatch):
    """Use no kernels on a GPU either."""
    monkeypatch.setattr("likewise._runtime.kernel_check.has_kernels", lambda device: False)


@pytest.fixture
def double_by_default():
    """Make float64 the type of tensors that are made without one."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)

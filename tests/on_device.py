"""Tensors on the GPU where there is one, else on the processor, and what they hold as arrays."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
# As a device that is set, "cpu" would mean that tensors go to the host; "cpu:0" stands for a GPU.
DEVICE_TO_SET = "cuda:0" if torch.cuda.is_available() else "cpu:0"


def there(array):
    return torch.as_tensor(np.ascontiguousarray(array), device=DEVICE)


def host(tensor):
    return tensor.cpu().numpy()

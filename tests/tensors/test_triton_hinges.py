"""The kernel of LMNN's hinges against the loop for arrays, in Triton's interpreter or on a GPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

from on_device import DEVICE, there  # noqa: E402

from likewise.objectives import GroupedPairs, LargeMargin, triton_hinges  # noqa: E402
from likewise.objectives.torch_large_margin import TensorPairs, TorchLargeMargin  # noqa: E402


def random_groups(random, n_groups, most):
    """Return the starts of groups of 0 to `most` pairs."""
    return np.concatenate([[0], np.cumsum(random.integers(0, most + 1, size=n_groups))])


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize(
    ("n_groups", "n_targets", "n_impostors"), [(1, 1, 1), (30, 3, 150), (9, 5, 0), (0, 1, 1)]
)
def test_losses_are_those_of_arrays(n_groups, n_targets, n_impostors, smoothing):
    random = np.random.default_rng(0)
    starts = [random_groups(random, n_groups, most) for most in (n_targets, n_impostors)]
    sqdist = [random.random(part[-1]) * 2 for part in starts]
    sqdist[1][::5] = 1.25  # distances that are equal, also to those of targets
    sqdist[0][::3] = 0.25
    weights = random.random(n_groups)
    nothing = [np.zeros(part[-1], dtype=np.int64) for part in starts]
    pairs = [
        GroupedPairs(*(rows, rows, begin)) for rows, begin in zip(nothing, starts, strict=True)
    ]
    ours = LargeMargin(np.zeros((n_groups, 1)), *pairs, weights, 0.4, 1.0, smoothing, n_jobs=1)
    expected = ours.loss(*sqdist, pull=0.7)

    tensors = [
        TensorPairs(there(part.rows), there(part.cols), there(part.indptr)) for part in pairs
    ]
    theirs = TorchLargeMargin(there(ours.X), *tensors, there(weights), 0.4, 1.0, smoothing)
    for compute in (theirs.losses_by_kernel, theirs.losses):
        losses, *derivatives = compute(*map(there, sqdist), 0.7)
        assert float(losses.sum()) == pytest.approx(expected.value, rel=1e-12)
        for found, derivative in zip(derivatives, expected[1:], strict=True):
            np.testing.assert_allclose(found.cpu().numpy(), derivative, rtol=1e-12, atol=1e-14)


def test_the_check_of_the_kernel_passes_and_fails(monkeypatch):
    assert triton_hinges._agrees(DEVICE, 3)
    group_losses = triton_hinges.group_losses
    monkeypatch.setattr(
        triton_hinges,
        "group_losses",
        lambda *args: [part * (1 + 1e-9) for part in group_losses(*args)],
    )
    assert not triton_hinges._agrees(DEVICE, 3)

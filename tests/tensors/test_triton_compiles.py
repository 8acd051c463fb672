"""Kernels compile for GPUs: what the interpreter accepts, a compiler may not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
triton = pytest.importorskip("triton", reason="Triton is not installed")


@pytest.mark.skipif(
    not triton.__version__.startswith("3.6."), reason="calls the compiler of Triton 3.6"
)
@pytest.mark.parametrize("capability", [80, 90])
def test_kernels_compile_without_a_gpu(capability, tmp_path):
    script = Path(__file__).with_name("compile_kernels.py")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run(
        [sys.executable, script, str(capability)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    kernels = json.loads(done.stdout)
    assert len(kernels) == 13
    for name, made in kernels.items():
        assert made["cubin"] > 0
        assert made["shared"] <= made["allowed"], name
        if name.startswith("sqdist"):  # its bits are defined without fused operations
            assert "fma" not in made["ptx"]
        if name.startswith(("screen", "candidates")) or name.endswith(
            "neighbours"
        ):  # products by tensor cores, mostly of columns that were loaded ahead
            assert ("wgmma" if capability == 90 else "mma.sync") in made["ptx"]
            assert name.startswith(("candidates", "prob")) or "cp.async" in made["ptx"]

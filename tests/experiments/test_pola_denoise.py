"""Noisy images: the noise is as declared, and the whole experiment runs at toy size."""

import numpy as np
import pytest

from likewise.experiments import EXPERIMENTS, reproduce
from likewise.experiments.pola_denoise import noisy_images, prototypes, run_denoising

KINDS = EXPERIMENTS["pola-denoise"].full.datasets


@pytest.mark.parametrize("kind", KINDS)
def test_noise_has_the_energy_of_the_image_and_its_place(kind):
    X, labels = noisy_images(kind, 0, 2000)
    noise = (X - prototypes()[labels]).reshape(-1, 12, 12)
    assert not noise[:, ::2, ::2].any(), "even rows of even columns have none"
    in_rows, in_columns = noise[:, 1::2, ::2].any(axis=(1, 2)), noise[:, ::2, 1::2].any(axis=(1, 2))
    assert (in_rows ^ in_columns).all()
    ratio = np.square(noise).sum() / np.square(prototypes()[labels]).sum()
    assert ratio == pytest.approx(1, abs=0.1)
    shared = [len(np.unique(image[image != 0].round(9))) == 1 for image in noise]
    assert all(shared) if kind == KINDS[0] else not any(shared)


def test_one_direction_of_pola_separates_what_one_of_pca_does_not():
    pola, pca = (run_denoising(KINDS[0], method, 3, n_images=32) for method in ("POLA", "PCA"))
    assert pola["error"] == 0 < pca["error"]
    assert pola["contrast"] > 5 > pca["contrast"]


def test_whole_experiment_at_toy_size(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    found = reproduce("pola-denoise", quick=True, output=tmp_path)
    assert len(found.results["cells"]) == 12
    assert all(file.stat().st_size for file in found.files)

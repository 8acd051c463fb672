"""Memory maps that cannot be learned from: the sentences of other input."""

import numpy as np
import pytest

import likewise as lw


def on_disk(folder, X):
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


def test_missing_labels_are_missed_in_the_words_of_scikit_learn(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    for rows in (on_disk(tmp_path, X), X):
        with (
            lw.config_context(max_memory="1GB"),  # so that it is read in blocks
            pytest.raises(ValueError, match="LMNN estimator requires y to be passed, but the targ"),
        ):
            lw.LMNN().fit(rows, None)


def test_no_rows(tmp_path):
    with (
        lw.config_context(max_memory="1GB"),
        pytest.raises(ValueError, match=r"X has 0 sample\(s\) \(n_samples=0\), but at least 1 is"),
    ):
        lw.LMNN().fit(on_disk(tmp_path, np.empty((0, 2))), np.empty(0))

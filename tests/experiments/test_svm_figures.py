"""Figures of the chapter on SVM metrics at toy size, and what a trial of each returns."""

from dataclasses import replace

import numpy as np
import pytest
from svm_data import write_data

from likewise.batch import DoubletSVM
from likewise.evaluation import knn_error
from likewise.experiments import reproduce
from likewise.experiments._svm_chapter import TASKS, splits
from likewise.experiments.svm_figures import FIGURES, run_figure

TOY = {
    "n_rows": 30,
    "max_iter": 6,
    "dimensions": (2, 4),
    "counts": (1, 2),
    "weights": (0.01, 1.0),
    "n_folds": 2,
}
pytest.importorskip("matplotlib", reason="figures need Matplotlib")


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    write_data(tmp_path, TASKS.values())
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_whole_experiment_at_toy_size(tmp_path):
    datasets = (*FIGURES.full.datasets[:5], "MNIST", "Sonar")
    size = replace(FIGURES.full, datasets=datasets, options=TOY)
    found = reproduce(replace(FIGURES, full=size), output=tmp_path / "results")
    assert {file.suffix for file in found.files} == {".json", ".md", ".svg", ".png"}
    timed = {
        (cell["dataset"], cell["method"])
        for cell in found.results["cells"]
        if cell["measure"] == "seconds"
    }
    of_digits = {"NCA", "ITML", "LDML", "LMNN", "DML-eig", "PLML", "PCML", "NCML"}
    of_uci = {"doublet-SVM", "triplet-SVM", "NCA", "ITML", "MCML", "LDML", "LMNN"}
    dimensions = ("Semeion, all dimensions", "PCML"), ("Semeion, all dimensions", "NCML")
    assert timed - set(dimensions) == {("MNIST", method) for method in of_digits} | {
        ("Sonar", method) for method in of_uci
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_errors_are_those_of_the_settings_shown():
    found = run_figure("Segmentation, m₁ = m₂", "doublet-SVM", 0, **TOY)
    assert found["values"] == [1, 2]
    wrong = 0.0
    for fold in splits(TASKS["Segmentation"], 0, 2):
        svm = DoubletSVM(2, 2, C=1.0).fit(fold.X, fold.y)
        Z, Z_test = svm.transform(fold.X), svm.transform(fold.X_test)
        wrong += knn_error(Z, fold.y, Z_test, fold.y_test, n_neighbors=1).error * len(fold.y_test)
    assert found["errors"][1] == pytest.approx(100 * wrong / found["n_test"], abs=1e-3)
    assert found["lowest"] == pytest.approx(min(found["errors"]), abs=1e-3)
    assert found["best"] == found["values"][int(np.argmin(found["errors"]))]


def test_both_solvers_end_at_the_same_objective():
    found = run_figure("PenDigits, iterations", "PCML", 0, **TOY | {"max_iter": 40})
    assert found["difference"] < 0.5
    assert found["gap"][found["iterations"] - 1] < 0.01
    assert all(gap >= 0.01 for gap in found["gap"][: found["iterations"] - 1])

"""Invalid input of LMNN raises clear errors, before any work."""

import numpy as np
import pytest
from lmnn_oracles import overlapping

import likewise as lw
from likewise.batch._kernel_space import KernelSpace
from likewise.batch.lmnn.early_stopping import split_validation


@pytest.mark.parametrize(
    ("options", "learn", "sentence"),
    [
        ({"n_neighbors": 9}, None, "n_neighbors=9 is not allowed: X has 9 rows, and a row is not"),
        (
            {"n_components": 3},
            None,
            r"n_components=3 is too many: LMNN has at most 2 \(the features of X\)",
        ),
        (
            {"init": np.eye(3)},
            None,
            r"init has shape \(3, 3\), but \(n_components, 2\) is needed, with at most 2 rows: "
            "there are 2 features of X",
        ),
        ({"init": np.ones((3, 2))}, None, r"init has shape \(3, 2\), but \(n_components, 2\)"),
        ({"init": np.eye(2), "n_components": 1}, None, "init has 2 rows, but n_components=1"),
        ({"init": np.zeros((2, 2))}, None, "init is zero everywhere"),
        ({"init": [[1.0, np.inf]]}, None, "init holds NaN or infinity"),
        ({"init": {"a": 1}}, None, "init={'a': 1} is not allowed: LMNN needs one of .* or a matr"),
        ({"init": ["a", "b", "c"]}, None, "init holds 'a', but only real numbers are"),
        ({"init": [[1.0], [1.0, 2.0]]}, None, "init has rows of different lengths"),
        ({"init": "lda"}, None, "init='lda' is not allowed: LMNN needs one of 'pca'"),
        ({"push": 0.0}, None, "push=0.0 is not allowed: LMNN needs a number above 0 and below"),
        ({"margin": -1.0}, None, "margin=-1.0 is not allowed"),
        ({"solver": "sgd"}, None, "solver='sgd' is not allowed"),
        (
            {"validation_fraction": 0.9, "n_neighbors": 2},
            None,
            "validation_fraction=0.9 would leave 1 row of each class, but at least one class needs",
        ),
        ({"validation_fraction": 0.05}, None, "would hold out none of the 9 rows"),
        (
            {"solver": "projected", "n_components": 1},
            None,
            "solver='projected' learns all 2 components, but n_components=1 asks for fewer",
        ),
        (
            {"solver": "projected", "init": [[1.0, 2.0]]},
            None,
            "solver='projected' learns all 2 components, but init with 1 row asks for fewer",
        ),
        (
            {"solver": "projected", "validation_fraction": 0.25, "n_neighbors": 1},
            None,
            "solver='projected' has no early stopping",
        ),
        (
            {},
            lambda m, X, y: m.fit(X, y, anchor_weight=[1.0]),
            r"anchor_weight has shape \(1,\), but 9 rows need shape \(9,\)",
        ),
        (
            {},
            lambda m, X, y: m.fit(X, y, anchor_weight=-np.ones(9)),
            "anchor_weight must be finite, not negative and not zero everywhere",
        ),
        (
            {},
            lambda m, X, y: m.fit_triplets(X, [[0, 1, 9]]),
            "triplets holds row number 9, but X has rows 0 to 8",
        ),
        (
            {"init": "fda"},
            lambda m, X, y: m.fit_triplets(X, [[0, 1, 2]]),
            "init='fda' needs labels, but triplets have none",
        ),
    ],
)
def test_errors(options, learn, sentence):
    X, y = overlapping(9, 2)[0], np.array(["a"] * 5 + ["b"] * 4)
    model = lw.LMNN(**{"n_neighbors": 3, **options})
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y) if learn is None else learn(model, X, y)


# The kernel takes n³ steps: errors that do not need it come first.
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_neighbors": 9}, "n_neighbors=9 is not allowed: X has 9 rows"),
        ({"init": [[np.nan, 1.0]]}, "init holds NaN or infinity"),
        ({"n_components": 9}, r"n_components=9 is too many: LMNN has at most 8 \(one fewer than"),
        (
            {"n_components": 4, "budget": 3},
            r"n_components=4 is too many: LMNN has at most 3 \(the budget\)",
        ),
        (
            {"n_components": 7, "validation_fraction": 0.25, "n_neighbors": 1},
            r"n_components=7 is too many: LMNN has at most 6 \(one fewer than",
        ),
        (
            {"solver": "projected", "validation_fraction": 0.25, "n_neighbors": 1},
            "solver='projected' has no early stopping",
        ),
    ],
)
def test_errors_come_before_the_kernel(options, sentence, monkeypatch):
    def computed(*args, **kwargs):
        raise AssertionError("the kernel was computed")

    monkeypatch.setattr(KernelSpace, "from_rows", computed)
    X, y = overlapping(9, 2)[0], np.array(["a"] * 5 + ["b"] * 4)
    with pytest.raises(ValueError, match=sentence):
        lw.LMNN(kernel="rbf", **options).fit(X, y)


def test_fda_without_labels_is_an_error_before_the_kernel(monkeypatch):
    monkeypatch.setattr(KernelSpace, "from_rows", None)
    with pytest.raises(ValueError, match="init='fda' needs labels, but triplets have none"):
        lw.LMNN(kernel="rbf", init="fda").fit_triplets(overlapping(9, 2)[0], [[0, 1, 2]])


def test_errors_with_a_kernel_name_its_directions():
    X, y = overlapping(9, 2)[0], np.array(["a"] * 5 + ["b"] * 4)
    with pytest.raises(
        ValueError, match=r"n_components=3 is too many: LMNN has at most 2 \(the directions that"
    ):
        lw.LMNN(kernel="linear", n_components=3).fit(X, y)
    with pytest.raises(
        ValueError,
        match=r"init has shape \(3, 3\), .* there are 2 directions that the kernel spans",
    ):
        lw.LMNN(kernel="linear", init=np.eye(3)).fit(X, y)


@pytest.mark.parametrize("learner", [lw.LMNN, lw.MultiMetricLMNN])
def test_all_weight_on_held_out_rows(learner):
    X, y = overlapping(40, 2)[0], np.arange(40) % 2
    _, held_out = split_validation(y, np.ones(40), 0.2, 0)
    weights = np.zeros(40)
    weights[held_out] = 1
    with pytest.raises(
        ValueError, match=r"validation_fraction=0.2 would hold out every row whose anchor_weight is"
    ):
        learner(1, validation_fraction=0.2, random_state=0).fit(X, y, anchor_weight=weights)


def test_multi_metric_errors_come_before_clustering(monkeypatch):
    monkeypatch.setattr("sklearn.cluster.KMeans", None)
    X, y = overlapping(9, 2)[0], np.array(["a"] * 5 + ["b"] * 4)
    with pytest.raises(ValueError, match="n_neighbors=10 is not allowed: there are n_samples = 9"):
        lw.MultiMetricLMNN(10, clusters=2).fit(X, y)
    with pytest.raises(ValueError, match="would hold out none of the 9 rows"):
        lw.MultiMetricLMNN(1, clusters=2, validation_fraction=0.05).fit(X, y)


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (lw.LMNN(budget=3), "budget=3 needs a kernel, but kernel=None"),
        (lw.LMNN(kernel_params={"gamma": 1}), "kernel_params=.* needs a kernel, but kernel=None"),
        (lw.DoubletSVM(kernel_params={"gamma": 1}), "kernel_params=.* needs a kernel, but kernel"),
    ],
)
def test_kernel_parameters_need_a_kernel(learner, sentence):
    with pytest.raises(ValueError, match=sentence):
        learner.fit(*overlapping(9, 2))

"""Classes with fewer rows than neighbours, and known targets, against the formula in loops."""

import warnings

import numpy as np
import pytest
from lmnn_oracles import by_cvxpy, by_the_formula, loop_objective, overlapping, targets_of
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.constraints import target_neighbors

WARNING = (
    r"n_neighbors=3 needs 4 rows in every class, but 2 classes have fewer: 'd' \(1 row\), "
    r"'e' \(3 rows\)\. Such rows have as many neighbours of their class as there are\."
)


def ragged():
    """Three large classes, one of a single row and one of three."""
    X, y = overlapping(44, 3)
    labels = np.array(["a", "b", "c"])[y]
    labels[[5, 6, 7, 8]] = ["d", "e", "e", "e"]
    return X, labels


def fitted(model, *args, **kwargs):
    """Fit it, and return the messages of its warnings too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*args, **kwargs)
    return model, [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("options", "tol"),
    [({}, 1e-4), ({"solver": "projected"}, 0.02), ({"n_passes": 2}, 1e-4)],
    ids=str,
)
def test_lmnn_has_as_many_targets_as_there_are(options, tol):
    X, y = ragged()
    model, messages = fitted(lw.LMNN(tol=tol, max_iter=2000, **options), X, y)
    assert len(messages) == 1
    # The targets of a second pass are those under the first metric.
    first = fitted(lw.LMNN(tol=tol, max_iter=2000), X, y)[0] if "n_passes" in options else None
    targets = targets_of(X if first is None else first.transform(X), y, 3)
    assert sorted({len(own) for own in targets}) == [0, 2, 3]
    expected = by_the_formula(X, y, targets, model.mahalanobis_matrix())
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    optimum = by_cvxpy(X, y, targets)
    assert optimum * (1 - 1e-5) <= model.objective_ <= optimum * (1 + 1.1 * tol)
    assert model.objective_ * (1 - model.duality_gap_) <= optimum * (1 + 1e-6)


def test_one_warning_names_the_classes():
    X, y = ragged()
    for model in (
        lw.LMNN(),
        lw.LMNN(n_passes=3),
        lw.MultiMetricLMNN(),
        lw.EnergyClassifier(),
        lw.EnergyClassifier(lw.RCA()),
    ):
        messages = [text for text in fitted(model, X, y)[1] if "rows in every class" in text]
        assert len(messages) == 1, model
        with pytest.warns(UserWarning, match=WARNING):
            model.fit(X, y)


def test_a_warning_names_a_few_classes_and_counts_the_others():
    X = np.arange(20.0)[:, None]
    y = [0] * 8 + [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7]
    with pytest.warns(UserWarning, match=r"fewer: 1 \(2 rows\), 2 \(2 rows\), 3 \(2 rows\), 4 mor"):
        target_neighbors(X, y, 2)
    with pytest.warns(UserWarning, match=r"but 1 class has fewer: 9 \(1 row\)\. Such"):
        target_neighbors([[0.0], [1.0], [2.0], [3.0]], [7, 7, 7, 9], 1)


@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")
def test_a_single_row_is_still_an_impostor():
    X, y = ragged()
    near = X.copy()
    near[5] = X[y == "a"].mean(axis=0)  # the single row, among the rows of another class
    without = lw.LMNN(tol=1e-3).fit(np.delete(near, 5, axis=0), np.delete(y, 5))
    among = lw.LMNN(tol=1e-3).fit(near, y)
    assert among.objective_ > 1.01 * without.objective_


@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")
@pytest.mark.parametrize("clusters", ["class", 2])
def test_several_metrics(clusters):
    X, y = ragged()
    model = lw.MultiMetricLMNN(clusters=clusters, tol=1e-3, max_iter=2000, random_state=0)
    model.fit(X, y)
    expected = loop_objective(X, y, model.clusters_, model.components_, 3, 0.5, 1.0)
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    assert model.duality_gap_ <= 1e-3
    assert np.isfinite(model.energies(X)).all()
    assert set(model.predict_by_energy(X)) <= set(y)


@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")
def test_the_validation_set_keeps_a_row_of_every_class():
    X, y = ragged()
    for learner in (lw.LMNN, lw.MultiMetricLMNN):
        model = learner(validation_fraction=0.3, random_state=0).fit(X, y)
        assert np.isfinite(model.components_).all()


def test_classes_of_single_rows_raise():
    X, _ = ragged()
    with pytest.raises(ValueError, match="Every class has 1 row, but at least one class needs 2"):
        lw.LMNN(1).fit(X, np.arange(len(X)))


@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")
def test_weight_on_rows_without_targets_raises():
    X, y = ragged()
    with pytest.raises(ValueError, match="No row whose anchor_weight is not 0 has a target"):
        lw.LMNN().fit(X, y, anchor_weight=(y == "d").astype(float))


def test_known_targets_against_the_formula():
    X, y = overlapping(40, 3)
    random = np.random.default_rng(0)
    pairs = np.array(
        [(i, j) for i in range(0, 40, 2) for j in range(40) if i != j and y[i] == y[j]]
    )
    pairs = pairs[random.random(len(pairs)) < 0.2]
    targets = [pairs[pairs[:, 0] == i, 1].tolist() for i in range(40)]
    # The order does not matter, nor does a pair that is given twice.
    given = np.vstack([random.permutation(pairs), pairs[:5]])
    model = lw.LMNN(tol=1e-4, max_iter=2000, n_passes=2).fit(X, y, targets=given)
    expected = by_the_formula(X, y, targets, model.mahalanobis_matrix())
    assert model.objective_ == pytest.approx(expected, rel=1e-5)
    assert model.objective_ == pytest.approx(by_cvxpy(X, y, targets), rel=2e-4)


def test_targets_by_distance_may_be_given():
    X, y = overlapping(60, 3)
    selected = lw.LMNN(2).fit(X, y)
    given = lw.LMNN(7).fit(X, y, targets=target_neighbors(X, y, 2))
    np.testing.assert_allclose(given.components_, selected.components_, rtol=1e-6)


def test_known_targets_of_held_out_rows_are_not_used():
    X, y = overlapping(60, 3)
    options = {"validation_fraction": 0.3, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = lw.LMNN(**options).fit(X, y, targets=target_neighbors(X, y, 5))
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize(
    ("targets", "sentence"),
    [
        ([[0, 1]], "targets pairs row 0 with row 1, but their labels differ"),
        ([[0, 40]], "targets holds row number 40, but X has rows 0 to 39"),
        ([[-1, 0]], "targets holds row number -1"),
        ([[3, 3]], "targets"),
        ([0, 3], r"targets has shape \(2,\), but \(n, 2\) is needed"),
        (np.empty((0, 2), dtype=int), "targets is empty"),
        ([[0.0, 3.0]], "targets holds float64 values, but row numbers must be integers"),
    ],
)
def test_errors_of_targets(targets, sentence):
    X, y = overlapping(40, 3)
    with pytest.raises(ValueError, match=sentence):
        lw.LMNN().fit(X, y, targets=targets)

"""POLA against brute force, its bounds, explicit feature maps and the public contract."""

import pickle
import warnings
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.testing import parametrize_with_contract
from likewise.testing._assertions import assert_raises_clear_error

KERNEL_MODELS_DIFFER = {
    "check_distance_forms_agree": "a kernel model has no matrix over the features",
    "check_components_shape": "the components of a kernel model are over its basis",
    "check_scale_equivariance": "the width of an rbf kernel fixes a scale",
}
DEGREE_TWO = {"kernel": "poly", "kernel_params": {"degree": 2, "gamma": 1.0, "coef0": 0.0}}
KERNELS = [{}, {"kernel": "linear"}, {"kernel": "rbf"}, DEGREE_TWO, {"kernel": "rbf", "budget": 9}]


@parametrize_with_contract(
    [lw.POLA(kernel="rbf", max_iter=3, n_pairs=60, random_state=0)],
    {lw.POLA: KERNEL_MODELS_DIFFER},
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_contract_with_a_kernel(estimator, check):
    check(estimator)


def stream(n=200, d=4, n_samples=60, seed=0):
    """Samples, pairs of them and judgements that no metric satisfies."""
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n_samples, d)), random.integers(3, size=n_samples)
    first = random.integers(n_samples, size=n)
    pairs = np.column_stack([first, (first + random.integers(1, n_samples, size=n)) % n_samples])
    return X, pairs, y[pairs[:, 0]] == y[pairs[:, 1]]


def separable(n=300, d=4, seed=0, margin=1.0):
    """Samples and pairs that a known (M*, b*) classifies correctly with `margin`."""
    random = np.random.default_rng(seed)
    L = random.normal(size=(2, d))
    M, b = L.T @ L, 6.0
    X = random.normal(size=(2 * n, d))
    V = X[::2] - X[1::2]
    q = np.einsum("nd,de,ne->n", V, M, V)
    chosen = np.abs(q - b) >= margin
    pairs = np.arange(2 * n).reshape(-1, 2)[chosen]
    return X, pairs, q[chosen] < b, M, b


def by_brute_force(V, sign, gamma):
    """The algorithm as in the paper, with a full eigendecomposition after every update."""
    M, b, losses = np.zeros((V.shape[1], V.shape[1])), 0.0, []
    for v, y in zip(V, sign, strict=True):
        loss = max(0.0, 1 - y * (b - v @ M @ v))
        losses.append(loss)
        if loss and (v.any() or y > 0):
            step = loss / (1 + (v @ v) ** 2 + gamma)
            values, vectors = np.linalg.eigh(M - step * y * np.outer(v, v))
            M, b = (vectors * np.maximum(values, 0)) @ vectors.T, max(1.0, b + step * y)
    return M, b, np.array(losses)


def degree_two(X):
    """Features whose inner product is (x·x')²."""
    i, j = np.triu_indices(X.shape[1], 1)
    return np.column_stack([np.square(X), 2**0.5 * X[:, i] * X[:, j]])


def hinge_losses(model, X, pairs, same, factor=1.0):
    """Losses by the public names: distances in the units in which the margin is 1."""
    q = np.square(model.pair_distance(X[pairs[:, 0]], X[pairs[:, 1]]))
    return np.maximum(0, 1 - np.where(same, 1, -1) * factor * (model.b_ - q))


@pytest.mark.parametrize("gamma", [0.0, 2.5])
@pytest.mark.parametrize("d", [1, 4, 50])
def test_equals_brute_force(gamma, d):
    X, pairs, same = stream(n=100, d=d)
    model = lw.POLA(gamma, scale=1.0)
    losses = [model.learn_pair(X[i], X[j], s) for (i, j), s in zip(pairs, same, strict=True)]
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    M, b, expected = by_brute_force(V, np.where(same, 1, -1), gamma)
    np.testing.assert_allclose(losses, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.mahalanobis_matrix(), M, rtol=1e-8, atol=1e-10)
    assert model.b_ == pytest.approx(b)
    assert model.cumulative_loss_ == pytest.approx(expected.sum())
    assert model.n_updates_ == np.count_nonzero(expected)


@pytest.mark.parametrize("gamma", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_squared_losses_are_bounded_on_separable_pairs(gamma, seed):
    X, pairs, same, M, b = separable(seed=seed)
    model = lw.POLA(gamma, scale=1.0)
    losses = [model.learn_pair(X[i], X[j], s) for (i, j), s in zip(pairs, same, strict=True)]
    longest2 = np.square(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1).max()
    assert np.square(losses).sum() <= (1 + longest2**2 + gamma) * (np.square(M).sum() + b**2)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize("options", [{}, {"kernel": "linear"}], ids=str)
@pytest.mark.parametrize("beta", [0.3, 0.7])
def test_batch_converges_to_a_separating_model(gamma, options, beta):
    X, pairs, same, *_ = separable(n=60, d=3)
    model = lw.POLA(gamma, **options, beta=beta, scale=1.0, max_iter=5000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit_pairs(X, pairs, same)
    assert model.converged_
    assert hinge_losses(model, X, pairs, same).max() <= beta * (1 + 1e-9)
    assert hinge_losses(model, X, pairs, same, 1 / (1 - beta)).max() <= 1e-9
    np.testing.assert_array_equal(model.predict_pairs(X[pairs[:, 0]], X[pairs[:, 1]]), same)
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    M, b = model.components_.T @ model.components_ / (1 - beta), model.b_ / (1 - beta)
    R = 1 + gamma + np.square(V).sum(axis=1).max() ** 2
    assert model.update_bound_ == pytest.approx(R * (np.square(M).sum() + b**2) / beta**2)
    assert 0 < model.n_updates_ <= model.update_bound_
    assert 1 < model.n_iter_ <= 5000
    assert model.n_events_ == model.n_iter_ * len(pairs)


def projected_step(M, b, v, y, gamma=0.0):
    """One step of the paper's Fig. 1, with a full eigendecomposition; also the loss before it."""
    loss = max(0.0, 1 - y * (b - v @ M @ v))
    step = loss / (1 + (v @ v) ** 2 + gamma)
    values, vectors = np.linalg.eigh(M - step * y * np.outer(v, v))
    return (vectors * np.maximum(values, 0)) @ vectors.T, max(1.0, b + step * y), loss


@pytest.mark.parametrize("beta", [0.3, 0.7])
def test_batch_rule_of_the_paper(beta):
    """Whole passes of POLA, with updates by any loss, while some pair has a loss above beta."""
    X, pairs, same, *_ = separable(n=60, d=3)
    options = {"beta": beta, "scale": 1.0, "max_iter": 5000, "n_iter_no_change": None}
    model = lw.POLA(update="any", shuffle=False, **options).fit_pairs(X, pairs, same)
    V, y = X[pairs[:, 0]] - X[pairs[:, 1]], np.where(same, 1, -1)
    M, b, passes, worst = np.zeros((3, 3)), 0.0, 0, np.inf
    while worst > beta:
        for v, sign in zip(V, y, strict=True):
            if 1 - sign * (b - v @ M @ v) > 0:
                M, b, _ = projected_step(M, b, v, sign)
        passes += 1
        worst = np.maximum(0, 1 - y * (b - np.einsum("nd,de,ne->n", V, M, V))).max()
    assert (model.n_iter_, model.n_events_) == (passes, passes * len(pairs))
    np.testing.assert_allclose(model.mahalanobis_matrix(), M, rtol=1e-7, atol=1e-9)
    assert model.b_ == pytest.approx(b)
    assert model.converged_
    assert model.update_bound_ == np.inf
    assert hinge_losses(model, X, pairs, same).max() <= beta * (1 + 1e-9)
    kernel = lw.POLA(update="any", kernel="linear", shuffle=False, **options)
    kernel.fit_pairs(X, pairs, same)
    assert (kernel.n_iter_, kernel.n_updates_) == (model.n_iter_, model.n_updates_)


def test_batch_rule_of_the_paper_on_pairs_that_no_metric_separates():
    X, pairs, same = stream(n=40)
    with pytest.warns(ConvergenceWarning, match="with a loss of"):
        model = lw.POLA(update="any", max_iter=3, random_state=0).fit_pairs(X, pairs, same)
    assert not model.converged_


@pytest.mark.parametrize(
    "init",
    ["identity", (np.diag([2.0, 0.5, 1.0]), 4.0), (np.diag([-1.0, 0.5, 1.0]), 1.0), lw.RCA()],
    ids=["identity", "pair", "not PSD", "metric"],
)
def test_initial_model(init):
    X, pairs, same, *_ = separable(n=60, d=3)
    if isinstance(init, lw.RCA):
        init = init.fit(X, np.arange(len(X)) % 3)
    M, b = np.eye(3), 1.0
    if isinstance(init, tuple):
        M, b = np.maximum(init[0], 0), init[1]
    elif not isinstance(init, str):
        M = init.mahalanobis_matrix()
    first = (M, b)
    model = lw.POLA(init=init, scale=1.0).partial_fit_pairs(X, pairs, same)
    for (i, j), alike in zip(pairs, same, strict=True):
        M, b, _ = projected_step(M, b, X[i] - X[j], 1 if alike else -1)
    np.testing.assert_allclose(model.mahalanobis_matrix(), M, rtol=1e-7, atol=1e-9)
    assert model.b_ == pytest.approx(b)
    batch = lw.POLA(init=init, beta=0.5, max_iter=5000, random_state=0).fit_pairs(X, pairs, same)
    sqnorms = np.square(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)
    s = batch.scale_
    moved = batch.mahalanobis_matrix() / 0.5 - first[0]
    distance = np.square(moved).sum() / s**4 + (batch.b_ / 0.5 - first[1]) ** 2
    bound = (1 + (s**2 * sqnorms.max()) ** 2) * distance / 0.5**2
    assert batch.update_bound_ == pytest.approx(bound)
    assert batch.n_updates_ <= batch.update_bound_


@given(
    seed=st.integers(0, 10_000),
    gamma=st.sampled_from([0.0, 0.5, 10.0]),
    b=st.floats(1, 20),
    stretch=st.floats(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_distance_to_a_separating_model_never_grows(seed, gamma, b, stretch):
    """Eq. (9) and Lemma 3 of the paper, for any initial model, after every pair."""
    X, pairs, same, M_best, b_best = separable(seed=seed)
    d = X.shape[1]
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(d, d)) * stretch
    start = (M @ M.T, b)
    model = lw.POLA(gamma, init=start, scale=1.0)
    best = np.square(M_best - start[0]).sum() + (b_best - b) ** 2
    nearest = best
    for (i, j), alike in zip(pairs[:40], same[:40], strict=True):
        model.learn_pair(X[i], X[j], alike)
        M = model._state.dense()
        distance = np.square(M - M_best).sum() + (model.b_ - b_best) ** 2
        assert distance <= nearest * (1 + 1e-9) + 1e-9
        nearest = distance
        moved = np.square(M - start[0]).sum() + (model.b_ - b) ** 2
        assert moved <= 4 * best * (1 + 1e-9) + 1e-9, "Lemma 3"


def test_lemma_3_from_zero():
    """As printed: M₁ = 0."""
    for seed in range(20):
        X, pairs, same, M, b = separable(seed=seed)
        model = lw.POLA(scale=1.0).partial_fit_pairs(X, pairs, same)
        norm = np.square(model._state.dense()).sum() + model.b_**2
        assert norm <= 4 * (np.square(M).sum() + b**2)


def test_init_with_a_kernel_is_refused():
    X, pairs, same = stream(n=10)
    with pytest.raises(ValueError, match="with a kernel init must be None"):
        lw.POLA(kernel="rbf", init="identity").fit_pairs(X, pairs, same)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"update": "all"}, "update='all' is not allowed"),
        ({"init": "zero"}, "init='zero' is not allowed"),
        ({"init": (np.eye(2), 1.0)}, r"shape \(2, 2\), but 4 features need \(4, 4\)"),
    ],
)
def test_bad_parameters(options, sentence):
    X, pairs, same = stream(n=10)
    with pytest.raises(ValueError, match=sentence):
        lw.POLA(**options).fit_pairs(X, pairs, same)


def test_batch_learns_only_from_losses_above_beta():
    X, pairs, same = stream(n=40)
    model = lw.POLA(beta=0.8, scale=1.0, shuffle=False, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="pass 3 .* above beta=0.8"):
        model.fit_pairs(X, pairs, same)
    M, b, updates, total = np.zeros((4, 4)), 0.0, 0, 0.0
    for (i, j), y in zip(np.tile(pairs, (3, 1)), np.tile(np.where(same, 1, -1), 3), strict=True):
        v = X[i] - X[j]
        loss = max(0.0, 1 - y * (b - v @ M @ v))
        total += loss
        if loss > 0.8:
            updates += 1
            step = loss / (1 + (v @ v) ** 2)
            values, vectors = np.linalg.eigh(M - step * y * np.outer(v, v))
            M, b = (vectors * np.maximum(values, 0)) @ vectors.T, max(1.0, b + step * y)
    np.testing.assert_allclose(model.mahalanobis_matrix(), M, rtol=1e-8, atol=1e-10)
    assert (model.n_updates_, model.n_events_) == (updates, 3 * len(pairs))
    assert model.cumulative_loss_ == pytest.approx(total)
    assert not model.converged_
    assert model.update_bound_ == np.inf


def test_batch_stops_when_passes_no_longer_decrease_the_losses():
    random = np.random.default_rng(0)
    X, pairs = random.normal(size=(60, 4)), random.integers(60, size=(300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = random.random(len(pairs)) < 0.5  # no metric separates random judgements
    fitted = {"random_state": 0, "max_iter": 400}
    with pytest.warns(ConvergenceWarning, match="n_iter_no_change"):
        stopped = lw.POLA(**fitted).fit_pairs(X, pairs, same)
    assert 5 < stopped.n_iter_ < 100
    totals, losses = [], 0.0
    for n_iter in range(1, stopped.n_iter_ + 1):
        model = lw.POLA(random_state=0, max_iter=n_iter, n_iter_no_change=None)
        with pytest.warns(ConvergenceWarning):
            model.fit_pairs(X, pairs, same)
        totals.append(model.cumulative_loss_ - losses)
        losses = model.cumulative_loss_
    progress = [total < 0.99 * min(totals[:k], default=np.inf) for k, total in enumerate(totals)]
    assert not any(progress[-5:])
    assert all(any(progress[k : k + 5]) for k in range(len(progress) - 5))
    np.testing.assert_array_equal(stopped.components_, model.components_)
    with pytest.warns(ConvergenceWarning, match="after pass 400"):
        lw.POLA(**fitted, n_iter_no_change=None).fit_pairs(X, pairs, same)


def test_batch_stops_on_equal_points_marked_dissimilar():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    with pytest.warns(ConvergenceWarning, match="loss of 2"):
        model = lw.POLA(max_iter=1000).fit_pairs(X, [[0, 1], [0, 2]], [False, True])
    assert model.n_iter_ < 10
    assert not model.converged_


@pytest.mark.parametrize("scale", [1.0, "auto"])
@pytest.mark.parametrize(
    ("options", "explicit"),
    [({"kernel": "linear"}, np.asarray), (DEGREE_TWO, degree_two)],
    ids=["linear", "degree 2"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_kernel_equals_explicit_features(options, explicit, scale):
    X, pairs, same = stream()
    F = explicit(X)
    kernel = lw.POLA(0.5, **options, scale=scale, max_iter=4, random_state=0)
    plain = lw.POLA(0.5, scale=scale, max_iter=4, random_state=0)
    kernel.fit_pairs(X, pairs, same).partial_fit_pairs(X, pairs[:50], same[:50])
    plain.fit_pairs(F, pairs, same).partial_fit_pairs(F, pairs[:50], same[:50])
    new, features = X[::-1], explicit(X[::-1])
    np.testing.assert_allclose(
        kernel.pair_distance(X, new), plain.pair_distance(F, features), rtol=1e-8, atol=1e-12
    )
    assert kernel.n_updates_ == plain.n_updates_
    assert kernel.b_ == pytest.approx(plain.b_, rel=1e-8)
    assert kernel.scale_ == pytest.approx(plain.scale_, rel=1e-10)
    assert kernel.components_.shape == (F.shape[1], F.shape[1])


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_many_equals_one_by_one(options):
    X, pairs, same = stream(n=300)
    many, few, one = lw.POLA(**options), lw.POLA(**options), lw.POLA(**options)
    many.partial_fit_pairs(X, pairs, same)
    for part in np.array_split(np.arange(300), 7):
        few.partial_fit_pairs(X, pairs[part], same[part])
    for (i, j), s in zip(pairs, same, strict=True):
        one.learn_pair(X[i], X[j], s)
    for other in (few, many):
        np.testing.assert_allclose(
            other.pair_distance(X[:30], X[30:]), one.pair_distance(X[:30], X[30:]), rtol=1e-8
        )
        for count in ("n_updates_", "n_events_", "mistakes_"):
            assert getattr(other, count) == getattr(one, count)
        assert other.cumulative_loss_ == pytest.approx(one.cumulative_loss_)


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_distance_methods_agree(options):
    X, pairs, same = stream()
    model = lw.POLA(**options).partial_fit_pairs(X, pairs, same)
    A, B = np.random.default_rng(1).normal(size=(2, 20, 4))
    expected = model.pair_distance(A, B)
    mapped = model.transform(A) - model.transform(B)
    np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), expected, rtol=1e-8)
    metric = pickle.loads(pickle.dumps(model.get_metric()))
    by_function = [metric(a, b) for a, b in zip(A, B, strict=True)]
    np.testing.assert_allclose(by_function, expected, rtol=1e-8)
    np.testing.assert_array_equal(model.predict_pairs(A, B), expected <= model.threshold_)
    assert_raises_clear_error(lambda: model.pair_distance(A, B[1:]), "20 rows", "19")


def test_kernel_model_is_over_its_basis():
    X, pairs, same = stream()
    model = lw.POLA(kernel="rbf", budget=9).partial_fit_pairs(X, pairs, same)
    assert model.components_.shape == (9, 9)
    assert model.transform(X).shape == (60, 9)
    with pytest.raises(AttributeError, match="no matrix over the features"):
        model.mahalanobis_matrix()


def test_get_metric_is_independent_of_later_updates():
    X, pairs, same = stream()
    model = lw.POLA(kernel="rbf").partial_fit_pairs(X, pairs[:5], same[:5])
    metric = model.get_metric()
    before = metric(X[0], X[1])
    for (i, j), s in zip(pairs[5:50], same[5:50], strict=True):
        model.learn_pair(X[i], X[j], s)
    assert metric(X[0], X[1]) == before != model.get_metric()(X[0], X[1])


def test_kernel_model_of_equal_points_has_no_direction():
    model = lw.POLA(kernel="rbf")
    assert model.learn_pair([1.0, 2.0], [1.0, 2.0], False) == 1.0
    assert model.n_updates_ == 0
    assert model.learn_pair([1.0, 2.0], [1.0, 2.0], True) == 1.0
    np.testing.assert_array_equal(model.pair_distance([[0.0, 0.0]], [[5.0, 5.0]]), [0.0])
    assert model.transform([[0.0, 0.0]]).shape == (1, 1)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_kernel_distances_are_translation_invariant(kernel):
    X, pairs, same = stream()
    near = lw.POLA(kernel=kernel).partial_fit_pairs(X, pairs, same)
    far = lw.POLA(kernel=kernel).partial_fit_pairs(X + 1e6, pairs, same)
    np.testing.assert_allclose(
        far.pair_distance(X[:30] + 1e6, X[30:] + 1e6), near.pair_distance(X[:30], X[30:]), rtol=1e-6
    )


def test_only_updates_extend_the_basis():
    X, pairs, same, *_ = separable(d=2)
    model = lw.POLA(kernel="rbf").partial_fit_pairs(X, pairs, same)
    assert model._state.basis.count <= model.n_updates_ < len(pairs)


def test_changed_kernel_takes_effect_in_the_next_fit():
    X, pairs, same = stream()
    model = lw.POLA(kernel="rbf").partial_fit_pairs(X, pairs, same)
    before = model.transform(X)
    for params in ({"kernel": "linear"}, {"kernel": None}):
        np.testing.assert_array_equal(model.set_params(**params).transform(X), before)
        model.partial_fit_pairs(X, pairs[:1], same[:1])
        before = model.transform(X)


def own_rbf(A, B, width=1.0):
    return np.exp(-np.square(A[:, None] - B).sum(axis=2) / width)


def test_callable_kernel(tmp_path):
    X, pairs, same = stream()
    own = lw.POLA(kernel=own_rbf, kernel_params={"width": 2.0}).partial_fit_pairs(X, pairs, same)
    ours = lw.POLA(kernel="rbf", kernel_params={"gamma": 0.5}).partial_fit_pairs(X, pairs, same)
    found = own.pair_distance(X[:30], X[30:])
    np.testing.assert_allclose(found, ours.pair_distance(X[:30], X[30:]), rtol=1e-8)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(own)).pair_distance(X[:30], X[30:]), found
    )
    with pytest.raises(TypeError, match="kernel is a function, which a model file cannot hold"):
        own.save(tmp_path / "model.safetensors")


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_save_load_continue_gives_the_same_bits(options, tmp_path):
    X, pairs, same = stream(n=300)
    straight = lw.POLA(**options, record_every=7).partial_fit_pairs(X, pairs[:150], same[:150])
    straight.save(tmp_path / "model.safetensors")
    resumed = lw.load(tmp_path / "model.safetensors")
    for model in (straight, resumed):
        model.partial_fit_pairs(X, pairs[150:250], same[150:250])
        for (i, j), s in zip(pairs[250:], same[250:], strict=True):
            model.learn_pair(X[i], X[j], s)
    np.testing.assert_array_equal(resumed.transform(X), straight.transform(X))
    np.testing.assert_equal(resumed.history_, straight.history_)
    assert resumed.b_ == straight.b_


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_invalid_events_leave_the_model_unchanged(options):
    X, pairs, same = stream()
    model = lw.POLA(**options).partial_fit_pairs(X, pairs[:100], same[:100])
    before = deepcopy(vars(model))
    invalid = X.copy()
    invalid[pairs[-1, 0], 1] = np.nan
    zero = np.zeros(4)
    assert_raises_clear_error(lambda: model.partial_fit_pairs(invalid, pairs, same), "NaN")
    assert_raises_clear_error(
        lambda: model.learn_pair([0.0, np.nan, 0.0, 0.0], zero, True), "A pair differs"
    )
    assert_raises_clear_error(lambda: model.learn_pair([1.0, 2.0], [0.0, 0.0], True), "4")
    assert_raises_clear_error(lambda: model.learn_pair(X[0], X[1], 0), "same=0")
    assert_raises_clear_error(lambda: model.partial_fit_pairs(X[:, :3], pairs, same), "3 features")
    assert_equal_bits(vars(model), before)


def assert_equal_bits(found, expected):
    for name, value in expected.items():
        if hasattr(value, "__dict__"):
            assert_equal_bits(vars(found[name]), vars(value))
        else:
            np.testing.assert_equal(found[name], value)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"relaxation": -0.1}, "relaxation=-0.1"),
        ({"relaxation": np.nan}, "relaxation=nan"),
        ({"beta": 0.0}, "beta=0.0"),
        ({"beta": 1.0}, "beta=1.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"n_iter_no_change": 0}, "n_iter_no_change=0"),
        ({"scale": 0.0}, "scale=0.0"),
    ],
)
def test_errors_of_parameters(params, words):
    assert_raises_clear_error(
        lambda: lw.POLA(**params).learn_pair([0.0], [1.0], True), words, "POLA"
    )


@settings(max_examples=25, deadline=None)
@given(
    events=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), min_size=1, max_size=60
    ),
    options=st.sampled_from(KERNELS),
    gamma=st.sampled_from([0.0, 1.0]),
)
def test_metric_stays_positive_semidefinite_for_any_stream(events, options, gamma):
    """Repeated, contradicting and equal pairs, in any order."""
    X = np.random.default_rng(0).normal(size=(10, 3)).round(1)
    model = lw.POLA(gamma, scale=1.0, **options)
    losses = [model.learn_pair(X[i], X[j], same) for i, j, same in events]
    assert np.isfinite(losses).all()
    assert np.linalg.eigvalsh(model._state.dense())[0] >= -1e-9
    assert np.isfinite(model.pair_distance(X, X[::-1])).all()
    if options in ({}, {"kernel": "linear"}):
        V = np.array([X[i] - X[j] for i, j, _ in events])
        expected = by_brute_force(V, [1 if same else -1 for *_, same in events], gamma)[2]
        np.testing.assert_allclose(losses, expected, rtol=1e-7, atol=1e-8)

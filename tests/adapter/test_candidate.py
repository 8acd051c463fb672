"""Maps, and similarities under them, by their formulas."""

import numpy as np
import pytest

from likewise.adapter._candidate import Candidate, Similarity


@pytest.fixture
def candidate(rng):
    return Candidate("fda", 0.7, rng.normal(size=4), 2.5, rng.normal(size=(2, 4)))


def formula(candidate, a, b):
    M = (
        np.eye(4) / candidate.scale
        + candidate.weight * candidate.directions.T @ candidate.directions
    )
    return M, a - candidate.mean, b - candidate.mean


def test_cosine_and_distance_under_the_metric(candidate, rng):
    A, B = rng.normal(size=(2, 5, 4))
    cosines = Similarity(normalize=True, side="both")
    distances = Similarity(normalize=False, side="both")
    (all_cosines,), (all_distances,) = (s.of_all(candidate, A, B) for s in (cosines, distances))
    for i in range(5):
        for j in range(5):
            M, a, b = formula(candidate, A[i], B[j])
            cosine = a @ M @ b / np.sqrt((a @ M @ a) * (b @ M @ b))
            assert all_cosines[i, j] == pytest.approx(cosine)
            assert all_distances[i, j] == pytest.approx(-(a - b) @ M @ (a - b))
    assert np.allclose(cosines.of_pairs(candidate, A, B), np.diag(all_cosines))
    assert np.allclose(distances.of_pairs(candidate, A, B), np.diag(all_distances))


def test_queries_alone_are_mapped(candidate, rng):
    A, B = rng.normal(size=(2, 5, 4))
    similarity = Similarity(normalize=True, side="query")
    (found,) = similarity.of_all(candidate, A, B)
    for i in range(5):
        M, a, _ = formula(candidate, A[i], B[0])
        query = M @ a
        wanted = B @ query / np.linalg.norm(query) / np.linalg.norm(B, axis=1)
        assert np.allclose(found[i], wanted)
    mapped = candidate.affine_map("query", normalize=True).transform(A)
    stored = B / np.linalg.norm(B, axis=1, keepdims=True)
    assert np.allclose(mapped @ stored.T, found)


def test_the_square_map_has_the_same_similarities(candidate, rng):
    A, B = rng.normal(size=(2, 5, 4))
    (cosines,) = Similarity(normalize=True, side="both").of_all(candidate, A, B)
    found = candidate.affine_map("both", normalize=True)
    assert found.W.shape == (4, 4)
    assert np.allclose(found.transform(A) @ found.transform(B).T, cosines)


def test_the_identity_leaves_rows_as_they_are(rng):
    A = rng.normal(size=(5, 4))
    identity = Candidate.identity(4)
    assert identity.is_identity
    assert (identity.images(A, "both") == A).all()
    assert (identity.affine_map("both", normalize=False).transform(A) == A).all()


def test_zero_rows_are_like_nothing(candidate):
    similarity = Similarity(normalize=True, side="both")
    zeros = np.zeros((2, 4))
    assert (similarity.of_pairs(Candidate.identity(4), zeros, np.ones((2, 4))) == 0).all()

import numpy as np
import pytest
from simulated_embeddings import embeddings

from likewise.constraints import random_pairs


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def train():
    return embeddings(1500, 0)


@pytest.fixture(scope="module")
def test():
    return embeddings(1000, 1)


@pytest.fixture(scope="module")
def pairs(train):
    return random_pairs(train[1], 800, distinct=True, random_state=0)


@pytest.fixture(scope="module")
def triplets(train):
    rng = np.random.default_rng(0)
    found = []
    while len(found) < 800:
        i, j, k = rng.choice(len(train[1]), 3, replace=False)
        if train[1][i] == train[1][j] != train[1][k]:
            found.append((i, j, k))
    return np.array(found)


@pytest.fixture(scope="module")
def lists(train):
    y = train[1]
    queries = np.arange(150)
    relevant = [np.setdiff1d(np.flatnonzero(y == y[q])[:6], [q]) for q in queries]
    irrelevant = [np.flatnonzero(y != y[q])[5 * q : 5 * q + 8] for q in queries]
    return queries, relevant, irrelevant

"""Definitions for pairs that share items, by plain loops."""

import itertools

import numpy as np


def double_sum(influence, units):
    """Sum the products of all pairs of pairs that have a unit in common."""
    sets = [set(pair) for pair in np.asarray(units).tolist()]
    return sum(
        influence[j] * influence[k]
        for j, k in itertools.product(range(len(sets)), repeat=2)
        if sets[j] & sets[k]
    )


def brute_force_variance(influence, units):
    """Return the dyadic variance as its definition says, in O(m²)."""
    n = len(np.unique(units))
    floor = sum(value * value for value in influence)
    return n / (n - 2) * max(floor, double_sum(influence, units))


def brute_force_degrees_of_freedom(influence, units):
    """Return (Σ S²)² / Σ S⁴ over units, at least 3."""
    touched = [set(pair) for pair in np.asarray(units).tolist()]
    sums = [
        sum(value for value, pair in zip(influence, touched, strict=True) if unit in pair)
        for unit in sorted(set().union(*touched))
    ]
    squares, fourths = sum(s**2 for s in sums), sum(s**4 for s in sums)
    return max(3.0, squares**2 / fourths) if fourths else 3.0


def all_pairs(n_items):
    """Return all pairs of items."""
    return np.stack(np.triu_indices(n_items, 1), axis=1)


def simulate_scores(rng, unit_of_item, pairs, rho):
    """Draw normal scores of which the share `rho` of the variance is that of the units."""
    effects = rng.normal(size=unit_of_item.max() + 1)[unit_of_item]
    noise = rng.normal(size=len(pairs))
    return np.sqrt(rho / 2) * effects[pairs].sum(axis=1) + np.sqrt(1 - rho) * noise

"""Hostile inputs for every part of the library; ``make fuzz`` runs all of them.

Each part has a function ``run(n, seed)`` that tries `n` random cases and returns a `Report`. The
same seed gives the same cases. The tests run a few cases of each part.
"""

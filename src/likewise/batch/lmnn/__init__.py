"""Large margin nearest neighbours, with one metric or with one metric per class or cluster.

The path of `LMNN.fit` to the optimum, file by file:

1. ``estimator.py`` validates the input;
2. ``batch/_initialisation.py`` makes the initial L;
3. ``targets.py`` selects the target neighbours and builds the objective;
4. ``preconditioning.py`` centres, scales and preconditions the data;
5. ``problem.py`` scales the initial L, and combines objective, working set and lower bound;
6. ``impostors.py`` searches all impostors exactly;
7. ``objectives/large_margin.py`` computes value, gradient and lower bound;
8. ``base/learner.py`` runs the solver with progress and callbacks;
9. ``working_set.py`` minimises by L-BFGS on smoothed hinges until the duality gap is small.

``early_stopping.py``, ``memory.py`` and the kernel are optional or guard the fit;
``matrix_problem.py`` and ``projected_subgradient.py`` are the solver of the paper; and
``multi_metric.py``, its problem and objective, and ``local_metrics.py`` are the multi-metric
learner. Files whose names begin with ``torch_`` do the same on tensors. For rows in blocks, on a
cluster or in a file, ``blocked.py`` has data and supervision, ``near_rows.py`` puts near rows into
one block, and ``blocked_targets.py`` and ``blocked_search.py`` search all pairs of blocks, by
``pairs_of_blocks.py``.
"""

from typing import TYPE_CHECKING

from likewise._runtime.lazy import lazy_package

if TYPE_CHECKING:
    from likewise.batch.lmnn.estimator import LMNN
    from likewise.batch.lmnn.multi_metric import MultiMetricLMNN
else:
    # Workers of a cluster import the tasks of this package, but not the estimators.
    __getattr__, __dir__ = lazy_package(
        __name__, {"estimator": ["LMNN"], "multi_metric": ["MultiMetricLMNN"]}
    )

__all__ = ["LMNN", "MultiMetricLMNN"]

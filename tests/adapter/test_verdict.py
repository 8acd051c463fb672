"""The sentence about the choice of EmbeddingAdapter."""

import numpy as np
import pytest
from simulated_embeddings import embeddings, fitted

import likewise as lw
from likewise.adapter._labels import Labels
from likewise.adapter._verdict import describe_choice


def test_the_verdict_names_how_many_would_do():
    X, y = embeddings(700, 3, noise=3.0)
    adapter = lw.EmbeddingAdapter().fit(X[:60], y[:60], unlabelled=X[60:])
    assert adapter.chosen_ == "identity"
    if adapter.n_needed_ is not None:
        assert f"about {adapter.n_needed_} would show" in adapter.verdict_


@pytest.mark.parametrize(("kind", "caution"), [("labels", 1.5), ("pairs", 2.0)])
def test_the_verdict_has_the_margin_of_the_choice(kind, caution, train, pairs, triplets, lists):
    adapter = fitted(kind, train, pairs, triplets, lists)
    results = adapter.cv_results_
    chosen = (results["family"] == adapter.chosen_) & (results["weight"] == adapter.weight_)
    criterion = {"labels": "precision", "pairs": "auc"}[kind]
    margin = caution * results[f"standard_error_{criterion}"][chosen][0]
    assert adapter.gain_ > margin
    said = f"rises by {adapter.gain_:.3f} ± {margin:.3f} ({caution:g} standard errors), from "
    assert said in adapter.verdict_
    assert adapter.verdict_.startswith(f"Adapted ({adapter.chosen_}, weight {adapter.weight_:g}): ")


def test_the_verdict_says_where_the_number_of_judgements_limits_the_weight():
    known = Labels(np.arange(60) % 2, np.arange(60), None)
    said = describe_choice(known, "fda", 0.1, 0.004, 0.006, None)
    assert said == (
        "Adapted (fda, weight 0.1): on judged items that were held out, the precision among the "
        "most similar rows rises by 0.004 ± 0.006 (1.5 standard errors), from 60 labelled rows; a "
        "larger weight exceeds that, but needs more of them."
    )

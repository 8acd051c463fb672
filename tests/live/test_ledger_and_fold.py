"""Which judgements count, and the model that follows from them, bit for bit."""

import itertools
import time
from collections import Counter

import numpy as np
import pytest
from judging import judgement, random_events, same_bits, toy_items, undo
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import cohen_kappa_score

import likewise as lw
from likewise.live import Fold, Ledger, agreement, start_model
from likewise.live import fold as fold_module

ITEMS, Y = toy_items()


def deciding(events):
    """What is learned from and audited, from the definition: pair by pair over the whole log."""
    undone = {event.id for event in events if event.kind == "undo"}
    in_force = [e for e in events if e.kind == "judgement" and e.id not in undone]
    first = {}
    for event in in_force:
        if event.answer != "unsure":
            first.setdefault(frozenset((event.left, event.right)), event)
    chosen = sorted(first.values(), key=lambda event: event.number)
    audited = [event for event in chosen if event.source == "audit"]
    learned = [event for event in chosen if event.source not in ("audit", "withheld")]
    return learned, audited, in_force


def replayed(events, start):
    """The model from the definition: learn one after the other, from the beginning."""
    fold = Fold(start, ITEMS.vectors, ITEMS.row_of)
    fold.follow(deciding(events)[0], 0)
    return fold.learner


@pytest.mark.parametrize("seed", range(5))
def test_the_ledger_follows_the_definition_event_by_event(seed):
    events, ledger = random_events(300, seed=seed), Ledger()
    for count, event in enumerate(events, start=1):
        before = list(ledger.learned)
        unchanged = ledger.apply(event)
        assert before[:unchanged] == ledger.learned[:unchanged]
        learned, audited, in_force = deciding(events[:count])
        assert (ledger.learned, ledger.audited) == (learned, audited)
        assert ledger.n_in_force == len(in_force)
        assert +ledger.in_force_by == Counter(e.annotator for e in in_force)
        assert ledger.n_pairs == len({frozenset((e.left, e.right)) for e in in_force})
        for name in ("ann", "bob", "eve"):
            own = [e for e in in_force if e.annotator == name]
            assert ledger.latest_of(name) == (own[-1] if own else None)


def agreement_of(in_force):
    """Agreement from the definition: pair by pair over all judgements in force."""
    answers = {}
    for event in in_force:
        if event.answer != "unsure":
            answers.setdefault(frozenset((event.left, event.right)), {})[event.annotator] = event
    shared = {pair: found for pair, found in answers.items() if len(found) > 1}
    agreed = [
        pair for pair, found in shared.items() if len({e.answer for e in found.values()}) == 1
    ]
    first, second = [], []
    for found in shared.values():
        for one, other in itertools.permutations(found.values(), 2):
            first.append(one.answer)
            second.append(other.answer)
    # Where all answers are alike, chance agrees as well: there is no kappa.
    return shared, agreed, cohen_kappa_score(first, second) if len(set(first)) > 1 else None


@pytest.mark.parametrize("seed", range(3))
def test_running_counts_of_agreement_follow_the_definition(seed):
    events, ledger = random_events(400, n_items=8, seed=seed), Ledger()
    for count, event in enumerate(events, start=1):
        ledger.apply(event)
        if count % 20:
            continue
        in_force = deciding(events[:count])[2]
        shared, agreed, kappa = agreement_of(in_force)
        found = agreement(ledger)
        assert (found.n_pairs, found.n_agreed) == (len(shared), len(agreed))
        assert found.kappa == pytest.approx(kappa)
        conflicts = {frozenset((c.left, c.right)) for c in found.conflicts}
        assert conflicts == shared.keys() - set(agreed)
        for name, counts in found.by_annotator.items():
            own = [pair for pair, answers in shared.items() if name in answers]
            assert counts["judgements"] == sum(e.annotator == name for e in in_force)
            assert counts["shared"] == len(own)
            assert counts["agreed"] == len(set(own) & set(agreed))


def test_counts_cost_the_same_however_many_judgements_there_are():
    """100,000 judgements: a pass over them takes 20 ms, and a thousand of them 20 s."""
    ledger = Ledger()
    for number in range(1, 100_001):
        left, right = str(number // 2), f"x{number // 2}"
        answer = "same" if number % 3 else "different"
        ledger.apply(judgement(number, left, right, answer, ["ann", "bob"][number % 2]))
    started = time.thread_time()
    for _ in range(1000):
        counts = ledger.n_in_force, ledger.in_force_by["ann"], ledger.n_pairs
        found = agreement(ledger)
        latest = ledger.latest_of("bob")
    assert time.thread_time() - started < 2
    assert counts == (100_000, 50_000, 50_001)
    assert latest.number == 99_999
    assert found.by_annotator["ann"]["shared"] == found.n_pairs == 49_999


def test_the_ledger_knows_pairs_in_either_order():
    ledger = Ledger()
    first = judgement(1, "b", "a", source="audit")
    ledger.apply(first)
    assert ledger.is_judged("a", "b")
    assert ledger.is_audit_pair("a", "b")
    assert ledger.of_pair("a", "b") == [first]
    revoking = undo(2, first)
    ledger.apply(revoking)
    assert not ledger.is_judged("a", "b")
    assert ledger.is_audit_pair("a", "b")
    assert ledger.undo_of(first.id) == revoking
    assert ledger.of_pair("a", "b") == []
    assert not ledger.is_in_force(first.id)
    with pytest.raises(ValueError, match="event 9 cannot follow event 2"):
        ledger.apply(judgement(9))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [lambda X: None, lambda X: lw.POLA().partial_fit(X[:30], Y[:30])])
def test_undoing_and_replaying_give_the_same_bits(seed, make, monkeypatch):
    monkeypatch.setattr(fold_module, "_SNAPSHOT_EVERY", 8)
    start = start_model(ITEMS.vectors, make(ITEMS.vectors))
    events = random_events(400, n_items=40, seed=seed)
    ledger, fold = Ledger(), Fold(start, ITEMS.vectors, ITEMS.row_of)
    for count, event in enumerate(events, start=1):
        fold.follow(ledger.learned, ledger.apply(event))
        if count % 50 == 0:
            assert same_bits(fold.learner, replayed(events[:count], start))
            assert fold.learner.n_events_ - start.n_events_ == fold.position == len(ledger.learned)
    assert len(fold.snapshots()) < 30


def test_a_fold_needs_only_what_is_not_learned_yet():
    start, events = start_model(ITEMS.vectors), random_events(300, n_items=40, seed=3)
    ledger, fold = Ledger(), Fold(start, ITEMS.vectors, ITEMS.row_of)
    for event in events:
        unchanged = ledger.apply(event)
        skipped = fold.continues_from(unchanged)
        fold.follow(ledger.learned[skipped:], unchanged, skipped=skipped)
    assert same_bits(fold.learner, replayed(events, start))


@pytest.mark.parametrize("source", ["audit", "withheld"])
def test_reserved_pairs_do_not_touch_the_model(source):
    start = start_model(ITEMS.vectors)
    events = [judgement(n, str(n), "0", source=source) for n in range(1, 30)]
    ledger, fold = Ledger(), Fold(start, ITEMS.vectors, ITEMS.row_of)
    for event in events:
        fold.follow(ledger.learned, ledger.apply(event))
    assert same_bits(fold.learner, start)
    assert len(ledger.audited) == (29 if source == "audit" else 0)


def test_a_model_saved_and_resumed_goes_on_with_the_same_bits(tmp_path):
    start = start_model(ITEMS.vectors)
    events = random_events(300, n_items=40, seed=7)
    learned = deciding(events)[0]
    fold = Fold(start, ITEMS.vectors, ITEMS.row_of)
    fold.follow(learned[:70], 0)
    fold.learner.save(tmp_path / "model.safetensors")
    resumed = Fold(start, ITEMS.vectors, ITEMS.row_of)
    resumed.resume(70, lw.load(tmp_path / "model.safetensors"))
    resumed.follow(learned, 70)
    assert same_bits(resumed.learner, replayed(events, start))
    resumed.follow(learned[:20], 20)  # back behind where it resumed
    fold.follow(learned[:20], 20)
    assert same_bits(resumed.learner, fold.learner)


def test_the_checkpoints_are_the_models_of_their_time():
    start = start_model(ITEMS.vectors)
    learned = deciding(random_events(400, n_items=60, seed=2, share_undone=0))[0]
    fold = Fold(start, ITEMS.vectors, ITEMS.row_of)
    fold.follow(learned, 0)
    assert sorted(fold.checkpoints) == list(range(0, len(learned) + 1, 50))
    for position, learner in fold.checkpoints.items():
        alone = Fold(start, ITEMS.vectors, ITEMS.row_of)
        alone.follow(learned[:position], 0)
        assert same_bits(alone.learner, learner)


def test_start_models():
    X = ITEMS.vectors
    assert start_model(X).components_.shape == (5, 5)
    rca = lw.RCA().fit(X, Y)
    M = start_model(X, rca).mahalanobis_matrix()
    truth = rca.mahalanobis_matrix()
    np.testing.assert_allclose(M / M[0, 0], truth / truth[0, 0], rtol=1e-4)
    classifier = lw.PairClassifier(lw.RCA()).fit(X, Y)
    started = start_model(X, classifier)
    truth = classifier.metric_.mahalanobis_matrix()
    factor = started.mahalanobis_matrix()[0, 0] / truth[0, 0]
    np.testing.assert_allclose(started.mahalanobis_matrix(), factor * truth, rtol=1e-3, atol=1e-5)
    # The pairs that the classifier accepts are those that the model accepts.
    assert started.threshold_ == pytest.approx(classifier.threshold_ * factor**0.5, rel=1e-3)
    plain = start_model(X, lw.PairClassifier().fit(X, Y)).mahalanobis_matrix()
    np.testing.assert_allclose(plain / plain[0, 0], np.eye(5), atol=1e-5)
    online = lw.PAMetric().partial_fit(X, Y)
    frozen = lw.PairClassifier(FrozenEstimator(online)).fit(X, Y)
    assert same_bits(start_model(X, frozen), online)
    with pytest.raises(ValueError, match="of cosine distances, but only a linear metric"):
        start_model(X, lw.PairClassifier("cosine").fit(X, Y))
    adapter = lw.EmbeddingAdapter(normalize=True).fit(X, Y)
    W = adapter.components_
    M = start_model(X, adapter).mahalanobis_matrix()
    np.testing.assert_allclose(M / np.trace(M), W.T @ W / np.trace(W.T @ W), rtol=1e-3, atol=1e-6)
    with pytest.raises(ValueError, match=r"the model has 4 features, but the vectors .* have 5"):
        start_model(X, lw.Euclidean().fit(X[:, :4]))
    with pytest.raises(ValueError, match="is a PLML, but only a linear metric can be learned on"):
        start_model(X, lw.PLML())
    with pytest.raises(ValueError, match="vectors of all items seem to be equal"):
        start_model(np.ones((10, 2), dtype=np.float32))

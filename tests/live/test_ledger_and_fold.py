"""Which judgements count, and the model that follows from them, bit for bit."""

import numpy as np
import pytest
from judging import judgement, random_events, same_bits, toy_items, undo

import likewise as lw
from likewise.live import Fold, Ledger, start_model
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
    return [event for event in chosen if event.source != "audit"], audited, len(in_force)


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
        learned, audited, n_in_force = deciding(events[:count])
        assert (ledger.learned, ledger.audited) == (learned, audited)
        assert ledger.n_in_force == n_in_force


def test_the_ledger_knows_pairs_in_either_order():
    ledger = Ledger()
    first = judgement(1, "b", "a", source="audit")
    ledger.apply(first)
    assert ledger.was_judged("a", "b")
    assert ledger.is_audit_pair("a", "b")
    assert ledger.of_pair("a", "b") == [first]
    ledger.apply(undo(2, first))
    assert ledger.was_judged("a", "b")
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


def test_audit_pairs_do_not_touch_the_model():
    start = start_model(ITEMS.vectors)
    events = [judgement(n, str(n), "0", source="audit") for n in range(1, 30)]
    ledger, fold = Ledger(), Fold(start, ITEMS.vectors, ITEMS.row_of)
    for event in events:
        fold.follow(ledger.learned, ledger.apply(event))
    assert same_bits(fold.learner, start)
    assert len(ledger.audited) == 29


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
    with pytest.raises(ValueError, match=r"the model has 4 features, but the vectors .* have 5"):
        start_model(X, lw.Euclidean().fit(X[:, :4]))
    with pytest.raises(ValueError, match="is a PLML, but only a linear metric can be learned on"):
        start_model(X, lw.PLML())
    with pytest.raises(ValueError, match="vectors of all items seem to be equal"):
        start_model(np.ones((10, 2), dtype=np.float32))

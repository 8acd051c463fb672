"""The engine: what is accepted, what is given to whom, and what opening the log again gives."""

import threading
import time
import uuid

import numpy as np
import pytest
from judging import judgement, same_bits, toy_items

import likewise as lw
from likewise.live import Engine, Items, RefusedError, writer
from likewise.live.chooser import Chooser
from likewise.live.pending import Pending
from likewise.live.progress import Evaluator
from likewise.live.scan import scan_rows
from likewise.live.view import ModelView

ITEMS, Y = toy_items(120)


@pytest.fixture
def engine(tmp_path):
    with Engine(ITEMS, str(tmp_path / "log.sqlite"), annotators=["ann", "bob"], seed=0) as made:
        yield made


def answer_of(offer):
    return "same" if int(offer.left) % 6 == int(offer.right) % 6 else "different"


def judge(engine, n_judgements, annotators=("ann",)):
    made = []
    for number in range(n_judgements):
        name = annotators[number % len(annotators)]
        offer = engine.next(name)
        outcome = engine.judge(offer.left, offer.right, answer_of(offer), name).result()
        made.append(outcome.event)
    return made


def test_the_same_id_again_is_no_second_event(engine):
    made = str(uuid.uuid4())
    first = engine.judge("0", "1", "same", "ann", made).result()
    again = engine.judge("0", "1", "same", "ann", made.upper()).result()
    assert (first.created, again.created) == (True, False)
    assert first.event == again.event
    with pytest.raises(RefusedError, match="was used for another judgement"):
        engine.judge("0", "2", "same", "ann", made).result()
    with pytest.raises(RefusedError, match=r"'ann' has judged this pair .*; undo that first"):
        engine.judge("1", "0", "different", "ann").result()
    assert len(engine.ledger) == 1


def test_the_same_id_twice_in_one_transaction(tmp_path):
    engine = Engine(ITEMS, str(tmp_path / "log.sqlite"))
    made = str(uuid.uuid4())
    futures = [engine.judge("0", "1", "same", "you", made) for _ in range(3)]
    futures.append(engine.undo(made, "you"))
    futures.append(engine.undo(made, "you"))
    futures.append(engine.judge("0", "1", "different", "you"))
    engine.start()
    assert [future.result().created for future in futures] == [
        True,
        False,
        False,
        True,
        False,
        True,
    ]
    assert [event.kind for event in engine.ledger.events] == ["judgement", "undo", "judgement"]
    assert engine.writer.n_transactions == 1
    engine.close()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("0", "999", "same", "ann"), 404, "there is no item '999'"),
        (("0", "01", "same", "ann"), 404, "there is no item '01'"),
        (("0", "0", "same", "ann"), 422, "item '0' is paired with itself"),
        (("0", "1", "maybe", "ann"), 422, "answer is 'maybe', but one of"),
        (("0", "1", "same", "ann", "7"), 422, "id is '7', but a UUID is needed"),
    ],
)
def test_bad_judgements_are_refused(engine, arguments, status, message):
    with pytest.raises(RefusedError, match=message) as refused:
        engine.judge(*arguments).result()
    assert refused.value.status == status
    assert len(engine.ledger) == 0


def test_only_who_judged_can_undo(engine):
    event = engine.judge("0", "1", "same", "ann").result().event
    with pytest.raises(RefusedError, match="only by who made it") as refused:
        engine.undo(event.id, "bob").result()
    assert refused.value.status == 403
    with pytest.raises(RefusedError, match="there is no judgement"):
        engine.undo(str(uuid.uuid4()), "ann").result()
    first, again = (engine.undo(event.id, "ann").result() for _ in range(2))
    assert (first.created, again.created) == (True, False)
    assert first.event == again.event
    assert first.event.kind == "undo"
    with pytest.raises(RefusedError, match=r"was undone; judge the pair with a new id") as refused:
        engine.judge("0", "1", "same", "ann", event.id).result()
    assert refused.value.status == 409


@pytest.mark.parametrize("tab", [None, "tab"])
def test_an_undone_pair_is_asked_about_again_and_the_one_shown_after_it(engine, tab):
    first = engine.next("ann", tab)
    made = engine.judge(first.left, first.right, "same", "ann").result().event
    second = engine.next("ann", tab)
    engine.undo(made.id, "ann", tab).result()
    again = engine.next("ann", tab)
    assert (again.left, again.right, again.source) == (first.left, first.right, first.source)
    corrected = engine.judge(again.left, again.right, "different", "ann").result()
    assert corrected.created
    if tab is not None:
        assert engine.next("ann", tab) is second
    engine.writer.settle()
    assert [e.answer for e in (*engine.ledger.learned, *engine.ledger.audited)] == ["different"]


@pytest.mark.parametrize("method", ["answered", "undone"])
def test_an_answer_is_known_to_the_next_request(engine, monkeypatch, method):
    """Whoever waited for a result finds its pair released, or to be asked about again."""
    immediate = getattr(Pending, method)

    def slowly(*arguments):
        time.sleep(0.05)
        immediate(*arguments)

    monkeypatch.setattr(Pending, method, slowly)
    for _ in range(5):
        first = engine.next("ann", "tab")
        made = engine.judge(first.left, first.right, "same", "ann").result().event
        second = engine.next("ann", "tab")
        assert (second.left, second.right) != (first.left, first.right)
        engine.undo(made.id, "ann", "tab").result()
        again = engine.next("ann", "tab")
        assert (again.left, again.right) == (first.left, first.right)
        engine.judge(again.left, again.right, "different", "ann").result()


def test_a_cancelled_judgement_is_not_written_and_its_pair_released(tmp_path):
    engine = Engine(ITEMS, str(tmp_path / "log.sqlite"), annotators=["ann"], seed=0)
    offer = engine.next("ann")
    assert engine.judge(offer.left, offer.right, "same", "ann").cancel()
    assert len(engine.pending) == 1
    engine.start()
    engine.close()
    assert len(engine.pending) == len(engine.ledger) == 0


def test_the_tab_that_undid_gets_the_pair_again_and_no_other(engine):
    first = engine.next("ann", "a")
    made = engine.judge(first.left, first.right, "same", "ann").result().event
    engine.undo(made.id, "ann", "a").result()
    assert engine.next("ann", "b").left != first.left
    assert engine.next("ann", "a").left == first.left


def test_opening_the_log_again_gives_the_same_bits(tmp_path, monkeypatch):
    log = str(tmp_path / "log.sqlite")
    with Engine(ITEMS, log, seed=0) as engine:
        events = judge(engine, 120, ["you"])
        for event in events[10:100:30]:
            engine.undo(event.id, "you").result()
    with Engine(ITEMS, log, seed=1) as again:
        assert again.ledger.events == engine.ledger.events
        assert same_bits(again.writer.fold.learner, engine.writer.fold.learner)
        assert again.notices == []
    monkeypatch.setattr(writer, "_REPLAYED_ANYWAY", 0)
    resumed = Engine(ITEMS, log)
    assert 0 < min(resumed.writer.fold.snapshots()[1:]) == resumed.writer.fold.position
    assert same_bits(resumed.writer.fold.learner, engine.writer.fold.learner)
    resumed.close()
    with pytest.raises(ValueError, match="is the log of another project"):
        Engine(ITEMS, log, model=lw.RCA().fit(ITEMS.vectors, Y))


def test_no_pair_is_given_twice_in_either_order(engine):
    seen = set()
    for number in range(300):
        offer = engine.next(f"a{number % 50}")
        pair = frozenset((offer.left, offer.right)), offer.annotator
        assert pair not in seen
        seen.add(pair)
        if number % 3:
            engine.judge(offer.left, offer.right, "unsure", offer.annotator).result()


def test_fifty_annotators_at_once_get_their_own_pairs(tmp_path):
    names = [f"a{n}" for n in range(50)]
    given, lock, failures = [], threading.Lock(), []

    def annotate(name):
        try:
            for _ in range(8):
                offer = engine.next(name)
                with lock:
                    pending.append(frozenset((offer.left, offer.right)))
                    if len(set(pending)) < len(pending):
                        failures.append("a pending pair was given twice")
                    given.append((name, frozenset((offer.left, offer.right))))
                time.sleep(0.001)
                with lock:
                    pending.remove(frozenset((offer.left, offer.right)))
                engine.judge(offer.left, offer.right, answer_of(offer), name).result()
        except Exception as error:
            failures.append(repr(error))
            raise

    pending = []
    items, _ = toy_items(200)
    with Engine(items, str(tmp_path / "log.sqlite"), annotators=names, seed=0) as engine:
        threads = [threading.Thread(target=annotate, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert len(set(given)) == len(given) == 400
        assert len(engine.ledger) == 400
        assert engine.writer.n_transactions < 400, "annotators share transactions"


def test_a_pair_is_given_until_it_runs_out(tmp_path):
    items = Items([[0.0], [1.0], [3.0]])
    with Engine(items, str(tmp_path / "log.sqlite")) as engine:
        offers = [engine.next("you") for _ in range(3)]
        assert engine.next("you") is None
        assert not engine.all_judged, "they wait for an answer"
        for offer in offers:
            engine.judge(offer.left, offer.right, "same", "you").result()
        assert engine.next("you") is None
        assert engine.all_judged


def test_a_tab_gets_its_pair_again_and_another_tab_another(engine):
    first = engine.next("ann", "tab 1")
    assert engine.next("ann", "tab 1") is first
    assert engine.next("ann", "tab 2") != first
    engine.judge(first.left, first.right, "same", "ann").result()
    assert engine.next("ann", "tab 1") != first


def test_pending_pairs_are_given_again_after_a_while():
    now = [0.0]
    pending = Pending(lambda: now[0])
    assert pending.add("a", "b", "audit", "ann", None) is not None
    assert pending.add("b", "a", "chosen", "bob", None) is None
    now[0] = 901.0
    assert ("a", "b") not in pending
    assert pending.source_of("b", "a", "ann") == "audit"
    assert pending.source_of("b", "a", "bob") is None
    assert pending.add("b", "a", "audit", "bob", None) is not None
    assert pending.source_of("a", "b", "ann") == pending.source_of("a", "b", "bob") == "audit"


def test_a_tenth_of_the_pairs_is_audited_and_never_learned(tmp_path):
    items, _ = toy_items(300)
    with Engine(items, str(tmp_path / "log.sqlite"), seed=3) as engine:
        events = judge(engine, 400, ["you"])
        engine.writer.settle()
        audited = [event for event in events if event.source == "audit"]
        assert 15 < len(audited) < 75  # 40 expected, with a deviation of 6
        assert engine.ledger.audited == audited
        assert not set(audited) & set(engine.ledger.learned)
        assert engine.writer.fold.position == 400 - len(audited)
        engine.evaluator.update(engine.view, now=True)
        report = engine.evaluator.report
        assert report["audit"]["pairs"] == len(audited)
        assert [point["judgements"] for point in report["curve"]][:3] == [0, 50, 100]
        assert report["stop"]["changed"] is not None


def test_a_pair_never_shown_is_learned_unless_it_is_reserved_and_never_audited(tmp_path):
    with Engine(ITEMS, str(tmp_path / "all.sqlite"), audit_share=1.0) as engine:
        assert engine.judge("0", "1", "same", "you").result().event.source == "withheld"
    with Engine(ITEMS, str(tmp_path / "none.sqlite"), audit_share=0.0) as engine:
        assert engine.judge("0", "1", "same", "you").result().event.source == "own"
    with Engine(ITEMS, str(tmp_path / "a.sqlite")) as engine:
        for right in range(1, 120):
            engine.judge("0", str(right), "different", "you").result()
        engine.writer.settle()
        sources = [event.source for event in engine.ledger.events]
        assert 1 <= sources.count("withheld") <= 30  # 12 expected, with a deviation of 3.3
        assert engine.writer.fold.position == sources.count("own")
        assert engine.ledger.audited == []
    with Engine(ITEMS, str(tmp_path / "b.sqlite"), only_shown=True) as engine:
        with pytest.raises(RefusedError, match="this pair was not shown"):
            engine.judge("0", "1", "same", "you")
        judge(engine, 3, ["you"])


def test_a_second_annotator_is_asked_about_some_pairs(tmp_path):
    log = str(tmp_path / "log.sqlite")
    with Engine(ITEMS, log, annotators=["ann", "bob"], overlap=0.5, seed=0) as engine:
        judge(engine, 80, ["ann"])
        for _ in range(40):
            offer = engine.next("bob")
            answer = answer_of(offer)
            if answer == "same":
                answer = "different"
            engine.judge(offer.left, offer.right, answer, "bob").result()
        engine.writer.settle()
        found = engine.agreement()
        assert found.n_pairs > 8
        assert 0 < found.n_agreed < found.n_pairs
        assert len(found.conflicts) == found.n_pairs - found.n_agreed
        assert found.conflicts[0].answers == {"ann": "same", "bob": "different"}
        assert found.by_annotator["ann"]["judgements"] == 80
        assert found.by_annotator["bob"]["shared"] == found.n_pairs
        assert found.kappa is not None
        assert found.kappa < 1


def test_a_clock_that_jumps_back_changes_nothing(tmp_path):
    times = iter([1e9, 5e8, 2e9, -3.0])
    log = str(tmp_path / "log.sqlite")
    with Engine(ITEMS, log, clock=lambda: next(times)) as engine:
        for right in "1234":
            engine.judge("0", right, "same", "you").result()
    with Engine(ITEMS, log) as again:
        assert [event.number for event in again.ledger.events] == [1, 2, 3, 4]
        assert [event.time for event in again.ledger.events] == [1e9, 5e8, 2e9, -3.0]
        assert same_bits(again.writer.fold.learner, engine.writer.fold.learner)


def test_the_choice_is_near_the_threshold_and_diverse():
    items, _ = toy_items(400)
    view = ModelView(0, lw.PAMetric(init="identity").partial_fit(items.vectors[:9], Y[:9]))
    chooser = Chooser(items.vectors, lambda left, right: left != right, seed=0)
    chooser.refresh(view)
    chooser.rank(view, 10)
    chosen = [chooser.take() for _ in range(10)]
    rows = np.array(chosen)
    assert len(np.unique(rows)) == 20, "every item at most once"
    everything = np.stack(np.triu_indices(400, 1), axis=1)
    margins = np.abs(view.distances(items.vectors, everything) ** 2 - view.threshold**2)
    own = np.abs(view.distances(items.vectors, rows) ** 2 - view.threshold**2)
    assert own.max() < np.quantile(margins, 0.01)


@pytest.mark.parametrize("components", [None, "random"])
def test_scanned_rows_are_those_of_brute_force(components):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 4)) + 100).astype(np.float32)
    L = None if components is None else rng.normal(size=(3, 4)).astype(np.float32)
    anchors = np.array([0, 7, 299])
    found = scan_rows(X, L, anchors, 6, threshold=1.5)
    mapped = X if L is None else X @ L.T
    D = np.linalg.norm(mapped[anchors][:, None] - mapped[None], axis=2)
    D[np.arange(3), anchors] = np.inf
    for row in range(3):
        assert set(found.nearest[row]) == set(np.argsort(D[row])[:6])
        assert set(found.at_threshold[row]) == set(np.argsort(np.abs(D[row] ** 2 - 2.25))[:6])


@pytest.mark.parametrize(
    ("owner", "method", "message"),
    [
        (Chooser, "refresh", "pairs are no longer chosen (broken)."),
        (Evaluator, "update", "the model is no longer evaluated (broken)."),
    ],
)
def test_a_failure_says_what_is_no_longer_done(tmp_path, monkeypatch, owner, method, message):
    def broken(*arguments, **options):
        raise RuntimeError("broken")

    monkeypatch.setattr(owner, method, broken)
    with Engine(ITEMS, str(tmp_path / "log.sqlite"), annotators=["ann"], seed=0) as engine:
        until = time.monotonic() + 10
        while engine.learning_failure is None and time.monotonic() < until:
            time.sleep(0.01)
        assert engine.learning_failure == message
        assert len(judge(engine, 3)) == 3


def test_bad_parameters(tmp_path):
    log = str(tmp_path / "log.sqlite")
    with pytest.raises(ValueError, match="audit_share=2 is not allowed"):
        Engine(ITEMS, log, audit_share=2)
    for target in ("eer", "bogus", "precision>=0.9", "fmr<=2", "fmr"):
        with pytest.raises(ValueError, match="is not allowed: 'fmr<=RATE', 'fnmr<=RATE' or"):
            Engine(ITEMS, log, target=target)
    with pytest.raises(ValueError, match="choice='best' is not allowed"):
        Engine(ITEMS, log, choice="best")


@pytest.mark.slow
def test_after_100_000_judgements_pairs_and_progress_come_as_quickly(tmp_path):
    items, y = toy_items(1000)
    path = str(tmp_path / "log.sqlite")
    engine = Engine(items, path, audit_share=0.0)
    pairs = np.random.default_rng(0).permutation(np.stack(np.triu_indices(1000, 1), axis=1))
    engine._log.append(
        judgement(number, str(left), str(right), "same" if y[left] == y[right] else "different")
        for number, (left, right) in enumerate(pairs[:100_000].tolist(), start=1)
    )
    engine.close()
    with Engine(items, path, audit_share=0.0, annotators=["ann"]) as engine:
        taken = []
        for _ in range(100):
            started = time.thread_time()
            offer = engine.next("ann")
            engine.progress("ann")
            taken.append(time.thread_time() - started)
            engine.judge(offer.left, offer.right, answer_of(offer), "ann").result()
        assert engine.progress("ann")["own_judgements"] == 100_100
        # A pass over all judgements would take some 50 ms each time.
        assert np.median(taken) < 0.01

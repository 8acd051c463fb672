"""The audit stream is a random sample of all pairs, whatever was judged and learned."""

import itertools
import re

import numpy as np
import pytest
from judging import toy_items
from scipy.stats import binom, binomtest, chisquare

from likewise.live import Engine, Items, start_model
from likewise.live import audit as audit_module
from likewise.live.audit import AuditPairs, audit_report
from likewise.live.audit_draws import AuditDraws
from likewise.live.chooser import Chooser
from likewise.live.reserve import AuditReserve
from likewise.live.view import ModelView


def all_pairs(n_items):
    return np.stack(np.triu_indices(n_items, 1), axis=1)


def test_a_share_of_the_pairs_is_reserved_in_either_order_and_by_key():
    pairs = all_pairs(400)
    found = AuditReserve("one", 0.1).contains(pairs)
    assert np.array_equal(found, AuditReserve("one", 0.1).contains(pairs[:, ::-1]))
    assert binomtest(int(found.sum()), len(found), 0.1).pvalue > 1e-3
    one_by_one = AuditReserve("one", 0.1).contains_pair
    assert [one_by_one(*pair) for pair in pairs[:500, ::-1].tolist()] == found[:500].tolist()
    assert not AuditReserve("one", 0.0).contains(pairs).any()
    assert AuditReserve("one", 1.0).contains(pairs).all()
    other = AuditReserve("other", 0.1).contains(pairs)
    # Under another key other pairs are reserved: both are, as often as chance has it.
    assert binomtest(int((found & other).sum()), len(found), 0.01).pvalue > 1e-3
    assert not (found & ~AuditReserve("one", 0.2).contains(pairs)).any()


def test_reserved_pairs_are_spread_evenly_over_rows_and_differences():
    pairs = all_pairs(300)
    found = AuditReserve("evenly", 0.1).contains(pairs)
    for group in (pairs[:, 0] // 30, (pairs[:, 1] - pairs[:, 0]) % 7, pairs.sum(axis=1) % 2):
        sizes, reserved = np.bincount(group), np.bincount(group[found])
        expected = sizes * found.sum() / len(pairs)
        keep = expected > 5
        observed = reserved[keep] * expected[keep].sum() / reserved[keep].sum()
        assert chisquare(observed, expected[keep]).pvalue > 1e-3


def test_the_chooser_never_takes_a_reserved_pair():
    items, _ = toy_items(40)
    reserve, asked = AuditReserve("key", 0.3), set()
    view = ModelView(0, start_model(items.vectors))
    chooser = Chooser(
        items.vectors, lambda i, j: frozenset((i, j)) not in asked, 0, reserve.contains
    )
    chooser.refresh(view)
    chooser.rank(view, 30)
    taken = list(itertools.takewhile(bool, (_take(chooser, asked) for _ in itertools.count())))
    assert len(taken) == (~reserve.contains(all_pairs(40))).sum(), "all others are"
    assert not reserve.contains(np.array(taken)).any()


def _take(source, asked):
    pair = source.take()
    if pair is not None:
        assert frozenset(pair) not in asked
        asked.add(frozenset(pair))
    return pair


@pytest.mark.parametrize("nearby", [False, True])
def test_draws_are_reserved_pairs_without_a_repeat(nearby):
    items, _ = toy_items(60)
    reserve, asked = AuditReserve("key", 0.1), set()
    draws = AuditDraws(
        items.vectors, reserve, lambda i, j: frozenset((i, j)) not in asked, nearby, 0
    )
    taken = []
    for _ in range(30):
        draws.fill()
        taken.append(_take(draws, asked))
    assert reserve.contains(np.array(taken)).all()
    while (pair := draws.take_any()) is not None:
        asked.add(frozenset(pair))
    assert len(asked) == reserve.contains(all_pairs(60)).sum(), "all are drawn in the end"


def test_half_of_the_pairs_drawn_nearby_are_neighbours():
    items, _ = toy_items(400)
    reserve = AuditReserve("key", 0.5)
    draws = AuditDraws(items.vectors, reserve, lambda i, j: True, True, 0)
    D = np.linalg.norm(items.vectors[:, None] - items.vectors[None], axis=2)
    rank = D.argsort(axis=1).argsort(axis=1)
    near = []
    for _ in range(300):
        draws.fill()
        left, right = draws.take()
        near.append(min(rank[left, right], rank[right, left]) <= 10)
    # Half, and of the others about 1 in 25 by chance.
    assert binomtest(sum(near), len(near), 0.52).pvalue > 1e-3


def judged_same_shares(folder, seed):
    """Share of same pairs in both halves of an audit stream; most pairs of 60 items are judged."""
    items, y = toy_items(60, seed=seed)
    with Engine(items, str(folder / f"{seed}.sqlite"), seed=seed) as engine:
        for _ in range(800):
            offer = engine.next("you")
            answer = "same" if y[int(offer.left)] % 2 == y[int(offer.right)] % 2 else "different"
            engine.judge(offer.left, offer.right, answer, "you").result()
        flags = [event.answer == "same" for event in engine.ledger.audited]
    return flags[: len(flags) // 2], flags[len(flags) // 2 :]


def test_the_audit_stream_is_unbiased_though_most_pairs_are_chosen(tmp_path):
    """Two classes of 30 items: 29 of 59 partners are same, in each half of each stream."""
    halves = [judged_same_shares(tmp_path, seed) for seed in range(4)]
    for half in (0, 1):
        flags = list(itertools.chain.from_iterable(pair[half] for pair in halves))
        assert len(flags) > 80
        assert binomtest(sum(flags), len(flags), 29 / 59).pvalue > 1e-3


def test_the_audit_of_a_log_cannot_be_changed(tmp_path):
    items, _ = toy_items()
    log = str(tmp_path / "log.sqlite")
    Engine(items, log).close()
    for other in ({"audit_share": 0.2}, {"audit": "nearby"}):
        with pytest.raises(ValueError, match=r"audit \(--audit\) and the audit_share that it was"):
            Engine(items, log, **other)


@pytest.mark.parametrize("shares", [(1, 1.0), (0.1, np.float64(0.1))], ids=str)
def test_a_share_is_the_same_however_it_is_written(tmp_path, shares):
    items, _ = toy_items()
    for share in shares:
        Engine(items, str(tmp_path / "log.sqlite"), audit_share=share).close()


@pytest.fixture(scope="module")
def line():
    """Items on a line and a model: a pair is accepted up to a distance that is promised."""
    X = np.arange(400, dtype=np.float32)[:, None]
    return X, {0: ModelView(0, start_model(X))}


def audit_of(X, rng, n_pairs, wrong_from=None):
    """Random pairs, far ones different; from some pair on, 40 % of those near are too."""
    first, step = rng.integers(len(X), size=n_pairs), rng.integers(1, len(X), size=n_pairs)
    second = (first + np.where(rng.random(n_pairs) < 0.5, 1, step)) % len(X)
    pairs = np.stack([first, second], axis=1)
    same = np.abs(pairs[:, 0] - pairs[:, 1]) == 1
    if wrong_from is not None:
        same &= ~((np.arange(n_pairs) >= wrong_from) & (rng.random(n_pairs) < 0.4))
    annotators = [["ann", "bob"][number % 2] for number in range(n_pairs)]
    return AuditPairs(pairs, same, annotators, np.zeros(n_pairs, dtype=np.int64))


def test_an_alarm_numbers_the_pairs_of_the_whole_stream(line):
    X, checkpoints = line
    audit = audit_of(X, np.random.default_rng(0), 500, wrong_from=300)
    drift = audit_report(X, audit, checkpoints[0], checkpoints, "fmr<=0.1")["drift"]
    (alarm,) = drift["alarms"]
    assert 256 < alarm["since"] < 340, "the change is at pair 301"
    assert f"from about pair {alarm['since']} on" in alarm["message"]
    assert drift["watched"] == 500 - 256


@pytest.mark.parametrize(
    ("n_pairs", "target", "sentence"),
    [
        (
            20,
            "fmr<=0.05",
            r"A false match rate of at most 5 % cannot be promised yet: the audit "
            r"stream has 12 different pairs, and about \d+ would do\.",
        ),
        (
            20,
            "recall>=0.9",
            r"A false non-match rate of at most 10 % cannot be promised yet: the "
            r"audit stream has 8 same pairs, and about \d+ would do\.",
        ),
        (
            20,
            "fmr<=0.01",
            r"A .* of at most 1 % .* would do if they were pairs of about \d+ items\. "
            r"This data set has only 400, which are probably too few for it\.",
        ),
        (60, "fmr<=0.01", r".* too few for it\. A false match rate of at most 10 % can be\."),
    ],
)
def test_why_a_rate_is_not_promised_is_said_for_annotators(line, n_pairs, target, sentence):
    X, checkpoints = line
    audit = audit_of(X, np.random.default_rng(0), n_pairs)
    report = audit_report(X, audit, checkpoints[0], checkpoints, target)
    assert re.fullmatch(sentence, report["promise"])
    assert report["promised"] is False


def test_where_more_pairs_would_not_help(line):
    X, checkpoints = line
    audit = audit_of(X, np.random.default_rng(0), 200)
    audit.pairs[50:] = audit.pairs[audit.same][0]
    promise = audit_report(X, audit, checkpoints[0], checkpoints, "fmr<=0.01")["promise"]
    assert promise.startswith("A false match rate of at most 1 % cannot be promised: already ")
    assert promise.endswith("more pairs would not help.")
    audit.pairs[:] = audit.pairs[0]
    promise = audit_report(X, audit, checkpoints[0], checkpoints, "fmr<=0.01")["promise"]
    assert promise == "No rate can be promised: all audit pairs are equally far."


@pytest.mark.parametrize(("n_pairs", "n_said"), [(20, 0), (60, 1), (1000, 1)])
def test_a_promise_on_neighbours_says_so(line, n_pairs, n_said):
    X, checkpoints = line
    audit = audit_of(X, np.random.default_rng(0), n_pairs)
    target = "fmr<=0.05" if n_pairs == 1000 else "fmr<=0.01"
    for nearby in (False, True):
        report = audit_report(X, audit, checkpoints[0], checkpoints, target, nearby=nearby)
        said = report["promise"].count("half of them neighbours, and not for all pairs.")
        assert said == (n_said if nearby else 0)


def test_an_engine_that_audits_neighbours_says_so(tmp_path, line):
    X, _ = line
    with Engine(Items(X), str(tmp_path / "log.sqlite"), audit="nearby", seed=0) as engine:
        audit = audit_of(X, np.random.default_rng(0), 1000)
        engine.evaluator.audit_pairs = lambda: audit
        engine.evaluator.update(engine.view, now=True)
        assert "half of them neighbours" in engine.evaluator.report["audit"]["promise"]


def test_a_promise_is_watched_until_the_next_is_made(line, monkeypatch):
    X, checkpoints = line
    audit, promise = audit_of(X, np.random.default_rng(0), 500), audit_module._promise

    def only_with(n_pairs):
        return lambda distances, pairs, target: (
            promise(distances, pairs, target)
            | ({} if len(pairs) == n_pairs else {"promised": False})
        )

    for n_pairs, watched in ((128, 500 - 128), (0, 0)):
        monkeypatch.setattr(audit_module, "_promise", only_with(n_pairs))
        drift = audit_report(X, audit, checkpoints[0], checkpoints, "fmr<=0.1")["drift"]
        assert (drift["watched"], drift["watching"]) == (watched, watched > 0)


def test_all_monitors_of_a_service_share_one_level(line):
    X, checkpoints = line
    levels = []
    for doublings in range(1, 8):
        audit = audit_of(X, np.random.default_rng(0), 64 * 2**doublings)
        drift = audit_report(X, audit, checkpoints[0], checkpoints, "fmr<=0.1")["drift"]
        assert drift["alarms"] == []
        levels.append(drift["alpha"])
    assert levels == pytest.approx([0.05 * 6 / (np.pi * k) ** 2 for k in range(1, 8)])
    assert sum(levels) < 0.05


def test_false_alarms_of_a_service_are_at_most_as_frequent_as_promised(line, monkeypatch):
    """At thresholds where the promised rate just holds, which is where false alarms are likeliest.

    Different pairs have distances of 1, 2, …, 399 in equal shares, so that at a threshold of 40 the
    false match rate is 40/399.
    """
    X, checkpoints = line
    unit = checkpoints[0].distances(X, np.array([[0, 1]]))[0]
    at_limit = {"promised": True, "threshold": 40.5 * unit}
    monkeypatch.setattr(audit_module, "_promise", lambda *_: at_limit)
    n_streams, n_pairs, n_alarmed = 200, 1500, {"holds": 0, "broken": 0}
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        step = rng.integers(1, 400, size=n_pairs)
        pairs = np.stack([np.zeros_like(step), step], axis=1)
        same = rng.random(n_pairs) < 0.5
        audit = AuditPairs(pairs, same, ["ann"] * n_pairs, np.zeros(n_pairs, dtype=np.int64))
        for name, target in (("holds", f"fmr<={40 / 399}"), ("broken", f"fmr<={13 / 399}")):
            drift = audit_module._drift(X, audit, checkpoints, target)
            n_alarmed[name] += bool(drift["alarms"])
    assert n_alarmed["holds"] <= binom.ppf(0.999, n_streams, 0.05)
    assert n_alarmed["broken"] > 0.95 * n_streams, "three times the promised rate is noticed"

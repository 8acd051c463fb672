"""Who was shown a pair, and what a judgement of it by another is."""

import pytest
from judging import toy_items

from likewise.live import Engine, RefusedError

ITEMS, _ = toy_items(60)


def make(folder, **options):
    log = str(folder / "log.sqlite")
    return Engine(ITEMS, log, annotators=["ann", "bob"], seed=0, overlap=0, **options)


def test_a_pair_that_another_was_shown_is_refused(tmp_path):
    with make(tmp_path, only_shown=True) as engine:
        offer = engine.next("ann", "tab 1")
        with pytest.raises(RefusedError, match="not shown to you; ask for the next one") as refused:
            engine.judge(offer.left, offer.right, "same", "bob")
        assert refused.value.status == 403
        assert engine.next("ann", "tab 1") == offer, "it goes on waiting"
        # In whichever tab it was shown, and in either order.
        assert engine.judge(offer.right, offer.left, "same", "ann").result().created


def test_a_judgement_of_ones_own_accord_on_an_audit_pair_does_not_count(tmp_path):
    with make(tmp_path, audit_share=1.0) as engine:
        offer = engine.next("ann", "tab 1")
        assert offer.source == "audit"
        own = engine.judge(offer.left, offer.right, "same", "bob").result().event
        assert own.source == "withheld"
        assert engine.ledger.audited == []
        assert engine.next("ann", "tab 1") == offer, "it goes on waiting"
        shown = engine.judge(offer.left, offer.right, "same", "ann").result().event
        assert shown.source == "audit"
        assert engine.next("ann", "tab 1") != offer


def test_a_late_answer_is_one_on_a_shown_pair(tmp_path):
    now = [0.0]
    with make(tmp_path, only_shown=True) as engine:
        engine.pending._clock = lambda: now[0]
        offer = engine.next("ann")
        now[0] = 1e6
        assert (offer.left, offer.right) not in engine.pending
        assert engine.judge(offer.left, offer.right, "same", "ann").result().created


def test_what_was_shown_before_a_restart_is_not_known_after_it(tmp_path):
    with make(tmp_path, only_shown=True) as engine:
        judged, waiting = engine.next("ann"), engine.next("ann")
        first = engine.judge(judged.left, judged.right, "same", "ann").result().event
    with make(tmp_path, only_shown=True) as engine:
        again = engine.judge(judged.left, judged.right, "same", "ann", first.id).result()
        assert not again.created, "sent again after an error"
        with pytest.raises(RefusedError, match="not shown to you"):
            engine.judge(waiting.left, waiting.right, "same", "ann")

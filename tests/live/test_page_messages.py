"""The labelling page in Chromium: one answer per press, and what the page says is true."""

import pytest
from judging import toy_items, write_texts
from playwright.sync_api import expect
from running_service import TOKENS, running, write_tokens

from likewise.live import Client

ITEMS, _ = toy_items(40)
STORED_AGAIN = "it is sent again, and counts once."


@pytest.fixture
def texts(tmp_path):
    return write_texts(tmp_path / "texts.jsonl", ITEMS, lambda row: f"thing {row}")


@pytest.fixture
def label(texts, tmp_path):
    """Yield the address of ``likewise label`` with a token, and a client with the same token."""
    options = ["--vectors", "v", "--log", tmp_path / "log", "--no-browser"]
    with running("label", texts, *options) as (url, _):
        address, token = url.split("/#token=")
        with Client(address, token) as client:
            yield url, client


def changing(change):
    """Return a handler that changes what the service says."""

    def answer(route):
        response = route.fetch()
        content = response.json()
        change(content)
        route.fulfill(response=response, json=content)

    return answer


def open_page(chromium, url, routes=()):
    """Open the page in a browser of its own; `routes` are pairs of a path and its handler."""
    page = chromium.new_context().new_page()
    for path, handler in routes:  # before the page loads: later requests can pass by a new handler
        page.route(path, handler)
    page.goto(url)
    expect(page.locator("#count")).to_contain_text("judged", timeout=60_000)
    return page


def count(page, number):
    """Wait until so many are judged, and the page is ready for the next answer."""
    expect(page.locator("#count")).to_have_text(f"{number} judged", timeout=30_000)
    expect(page.locator("#pair")).to_have_attribute("aria-busy", "false", timeout=30_000)


def hold(page, key, number):
    """Hold a key; its first press makes so many judged."""
    page.keyboard.down(key)
    count(page, number)
    for _ in range(3):
        page.keyboard.down(key)  # without letting go: the browser says that it repeats
    page.keyboard.up(key)


def test_a_key_that_is_held_is_one_answer(chromium, label):
    url, client = label
    page = open_page(chromium, url)
    hold(page, "s", 1)
    page.keyboard.press("d")
    count(page, 2)
    page.get_by_role("button", name="Same").focus()
    hold(page, "Enter", 3)
    hold(page, "Space", 3)
    count(page, 4)
    hold(page, "z", 3)
    page.keyboard.press("u")
    count(page, 4)
    answers = [event.answer for event in client.judgements()]
    assert answers == ["same", "different", "same", "same", "", "unsure"]
    page.context.close()


def test_undo_says_where_the_answer_was_given(chromium, label):
    url, client = label
    first, second = open_page(chromium, url), open_page(chromium, url)
    first.keyboard.press("z")
    expect(first.locator("#message")).to_have_text("There is no answer to undo.")
    second.keyboard.press("s")
    count(second, 1)
    expect(first.locator("#undo")).to_be_enabled(timeout=30_000)
    first.keyboard.press("z")
    expect(first.locator("#message")).to_have_text(
        "Your last answer, which was not given in this tab, was undone: judge the pair again."
    )
    second.keyboard.press("z")
    expect(second.locator("#message")).to_have_text(
        "That answer was undone before, elsewhere: nothing was changed."
    )
    assert [event.kind for event in client.judgements()] == ["judgement", "undo"]
    first.context.close()
    second.context.close()


def test_while_the_service_cannot_be_reached_the_answer_waits(chromium, label):
    url, client = label
    page = open_page(chromium, url)
    page.context.set_offline(True)
    page.keyboard.press("s")
    connection = page.locator("#connection")
    expect(connection).to_have_text(
        "The service cannot be reached; trying again. It is not known whether “same” is stored: "
        f"{STORED_AGAIN}",
        timeout=30_000,
    )
    page.context.set_offline(False)
    count(page, 1)
    expect(connection).to_have_text("")
    expect(page.locator("#message")).to_have_text("You answered: same.")
    assert [event.answer for event in client.judgements()] == ["same"]
    page.context.close()


def test_an_answer_whose_receipt_was_lost_counts_once(chromium, label):
    url, client = label
    sent = []

    def lose_the_first(route):
        sent.append(route.request.post_data_json["id"])
        if len(sent) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page = open_page(chromium, url, [("**/judgements", lose_the_first)])
    page.keyboard.press("d")
    count(page, 1)
    expect(page.locator("#message")).to_have_text("You answered: different.")
    assert len(sent) == 2
    assert len(set(sent)) == 1
    page.keyboard.press("z")
    count(page, 0)
    assert [event.kind for event in client.judgements()] == ["judgement", "undo"]
    page.context.close()


def test_notes_of_items_and_both_error_rates_are_shown(chromium, label):
    def add_notes(pair):
        pair["right"]["notes"] = ["Only a <b>part</b> is shown."]

    def add_rates(progress):
        point = {"error": 0.2, "low": 0.1, "high": 0.3}
        progress["curve"] = [point | {"judgements": 0}, point | {"judgements": 2600}]
        rates = {"promise": "FMR is at most 10 %.", "fmr": 0.08, "fnmr": 0.64}
        progress["audit"] = rates | {"drift": {"alarms": []}}

    changes = [("**/next*", changing(add_notes)), ("**/progress", changing(add_rates))]
    page = open_page(chromium, label[0], changes)
    assert page.inner_text("#right .note") == "Only a <b>part</b> is shown."
    assert page.locator("#left .note").count() == 0
    assert page.inner_text("#rates") == (
        "FMR 8.0 %, FNMR 64.0 % on the audit pairs. FMR is the share of different pairs that are "
        "taken for the same, FNMR the share of same pairs that are missed."
    )
    caption = page.inner_text("#curve-text")
    assert "20.0 % at the start, 20.0 % after 2600 judgements (95 %" in caption
    page.context.close()


def test_conflicts_between_annotators_are_listed(chromium, texts, tmp_path):
    options = ["--vectors", "v", "--log", tmp_path / "log", "--port", "0"]
    tokens = write_tokens(tmp_path)
    with running("serve", texts, *options, "--token-file", tokens) as (url, _):
        address = url.rstrip("/.")
        with Client(address, TOKENS["ann"]) as ann, Client(address, TOKENS["bob"]) as bob:
            for first, second in (("t1", "t2"), ("t3", "t4")):
                ann.judge(first, second, "same")
                bob.judge(first, second, "same" if first == "t1" else "different")
        page = open_page(chromium, f"{address}/#token={TOKENS['ann']}")
        expect(page.locator("#agreement")).to_have_text(
            "Annotators agree on 1 of 2 pairs that several judged."
        )
        summary = page.locator("#conflicts summary")
        expect(summary).to_have_text("1 conflict")
        summary.click()
        assert page.locator("#conflict-list li").all_inner_texts() == [
            "“t3” and “t4” – ann: same, bob: different"
        ]
        page.context.close()

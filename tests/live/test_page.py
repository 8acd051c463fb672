"""The labelling page in Chromium: keys, touch, reload, undo, export and accessibility."""

import os
import re
from contextlib import contextmanager

import numpy as np
import pytest
from judging import toy_items, write_texts
from PIL import Image
from playwright.sync_api import expect
from running_service import running

from likewise.live import Client, bind, open_log
from likewise.live.serving import addresses

ITEMS, Y = toy_items(150)
AXE = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is missing")


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.jsonl"
    return write_texts(path, ITEMS, lambda row: f"thing {row} of <b>kind</b> {Y[row]}")


@contextmanager
def page_of(chromium, *arguments, host=None, **options):
    """Open the page of ``likewise label``; no console error, no request elsewhere."""
    with running("label", *arguments, "--no-browser") as (url, _):
        if host is not None:
            url = url.replace("127.0.0.1", host)
        context = chromium.new_context(**options)
        page = context.new_page()
        messages, requests = [], []
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        expect(page.locator("#count")).to_contain_text("judged", timeout=60_000)
        yield page
        context.close()
        origin = url.split("/#")[0]
        assert not messages
        assert requests
        assert all(request.startswith(origin) for request in requests)


def kind_of(page, side):
    return re.search(r"kind\S* (\d+)", page.inner_text(f"#{side}"))[1]


def press(page, key):
    """Press a key and wait until it was counted."""
    before = page.inner_text("#count")
    page.keyboard.press(key)
    expect(page.locator("#count")).not_to_have_text(before, timeout=30_000)
    expect(page.locator("#pair")).to_have_attribute("aria-busy", "false", timeout=30_000)


def judge(page, n_pairs):
    for _ in range(n_pairs):
        press(page, "s" if kind_of(page, "left") == kind_of(page, "right") else "d")


def test_label_100_pairs_undo_10_reload_and_export(chromium, texts, tmp_path):
    log = tmp_path / "log.sqlite"
    with page_of(chromium, texts, "--vectors", "v", "--log", log) as page:
        assert page.locator("#left b").count() == 0, "text of items is not markup"
        assert "token" not in page.url
        judge(page, 50)
        shown = page.inner_text("#pair")
        page.reload()
        expect(page.locator("#count")).to_contain_text("judged", timeout=30_000)
        assert page.inner_text("#pair") == shown, "a reload shows the same pair"
        judge(page, 50)
        for _ in range(10):
            press(page, "z")
        assert page.inner_text("#count") == "90 judged"
        assert page.inner_text("#message") == "The last answer was undone: judge the pair again."
        assert "Too early to stop" in page.inner_text("#stop")
        for name in ("pairs", "model", "report"):
            with page.expect_download() as download:
                page.get_by_role("link", name=name).click()
            assert os.path.getsize(download.value.path()) > 100
    events = _events(log, texts)
    assert [event.kind for event in events].count("judgement") == 100
    assert [event.kind for event in events].count("undo") == 10
    pairs = {frozenset((e.left, e.right)) for e in events if e.kind == "judgement"}
    assert len(pairs) == 100, "no pair was asked about twice"


def _events(log, texts):
    import apsw

    connection = apsw.Connection(str(log))
    project = connection.execute("SELECT value FROM meta WHERE key = 'project'").fetchone()[0]
    connection.close()
    opened = open_log(str(log), project)
    events = opened.read()
    opened.close()
    return events


@pytest.mark.parametrize("width", [360, 1200])
def test_axe_finds_nothing_and_it_fits_a_phone(chromium, texts, tmp_path, width):
    size = {"viewport": {"width": width, "height": 740}, "has_touch": True}
    with page_of(chromium, texts, "--vectors", "v", "--log", tmp_path / "log", **size) as page:
        page.get_by_role("button", name="Same").tap()
        expect(page.locator("#count")).to_have_text("1 judged", timeout=30_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for button in page.locator("#answers button").all():
            assert button.bounding_box()["height"] >= 44
        found = AXE.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_rows_and_images(chromium, tmp_path):
    (tmp_path / "rows.csv").write_text("name,size\n<i>tea</i>,1\ncoffee,2\ncocoa,4\n")
    with page_of(chromium, tmp_path / "rows.csv") as page:
        assert page.locator("th[scope=row]").all_inner_texts() == ["name", "size"]
        assert page.locator("article mark").count() == 4
        for _ in range(3):
            press(page, "u")
        page.wait_for_selector("#pair", state="hidden")
        assert page.inner_text("#message") == "All pairs were judged."
        expect(page.locator("#stop")).to_have_text(
            "There is nothing left to judge. No pair to learn from was answered “same” or "
            "“different”: both kinds are needed.",
            timeout=30_000,
        )
        for name in ("Same", "Different", "Unsure"):
            expect(page.get_by_role("button", name=name)).to_be_disabled()
        press(page, "z")
        expect(page.get_by_role("button", name="Same")).to_be_enabled()
    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(4):
        pixels = np.random.default_rng(number).integers(256, size=(40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"a b&{number}.png")
    with page_of(chromium, folder) as page:
        for image in page.locator("article img").all():
            expect(image).to_have_js_property("naturalWidth", 40, timeout=30_000)
        assert page.locator("article img").count() == 2


def test_without_a_token_the_page_asks_for_one(chromium, texts, tmp_path):
    with running("label", texts, "--vectors", "v", "--log", tmp_path / "log", "--no-browser") as (
        url,
        _,
    ):
        address, token = url.split("#token=")
        page = chromium.new_context().new_page()
        page.goto(address)
        page.wait_for_selector("#sign-in:not([hidden])")
        assert not page.is_visible("#pair")
        expect(page.locator("#message")).to_have_text("A token is needed.")
        page.fill("#token", "no token of this service")
        page.keyboard.press("Enter")
        expect(page.locator("#message")).to_have_text("This token is not known.")
        page.fill("#token", f" {token} ")  # as pasted
        page.keyboard.press("Enter")
        page.wait_for_selector("#pair:not([hidden])")
        expect(page.locator("#message")).to_have_text("")
        page.context.close()


def test_a_slip_is_corrected_also_after_a_reload_and_in_another_tab(chromium, texts, tmp_path):
    log = tmp_path / "log.sqlite"
    with page_of(chromium, texts, "--vectors", "v", "--log", log) as page:
        shown = page.inner_text("#pair")
        press(page, "s")
        following = page.inner_text("#pair")
        press(page, "z")
        assert page.inner_text("#pair") == shown, "the pair whose answer was undone"
        press(page, "d")
        assert page.inner_text("#pair") == following, "the pair that was shown before"
        page.evaluate("sessionStorage.clear()")
        other = page.context.new_page()
        other.goto(page.url)
        expect(other.locator("#undo")).to_be_enabled(timeout=30_000)
        other.keyboard.press("z")
        expect(other.locator("#count")).to_have_text("0 judged", timeout=30_000)
        assert other.inner_text("#pair") == shown
    answers = [(event.kind, event.answer) for event in _events(log, texts)]
    assert [kind for kind, _ in answers] == ["judgement", "undo", "judgement", "undo"]
    assert [answer for _, answer in answers if answer] == ["same", "different"]


def test_a_duplicated_tab_is_a_tab_of_its_own(chromium, texts, tmp_path):
    log = tmp_path / "log.sqlite"
    with page_of(chromium, texts, "--vectors", "v", "--log", log) as page:
        with page.expect_popup() as opened:  # with a copy of the storage, as a duplicate has
            page.evaluate("open(location.href)")
        copy = opened.value
        expect(copy.locator("#count")).to_contain_text("judged", timeout=30_000)
        assert copy.inner_text("#pair") != page.inner_text("#pair")
        copy.keyboard.press("s")
        expect(copy.locator("#count")).to_have_text("1 judged", timeout=30_000)
        page.keyboard.press("d")
        expect(page.locator("#count")).to_have_text("2 judged", timeout=30_000)
        press(page, "z")
        press(page, "z")
        assert page.inner_text("#count") == "0 judged"
    assert [event.kind for event in _events(log, texts)] == ["judgement"] * 2 + ["undo"] * 2


def test_an_answer_that_was_given_elsewhere_is_not_said_to_be_stored(chromium, tmp_path):
    (tmp_path / "two.csv").write_text("id,size\na,1\nb,2\n")
    with running("label", tmp_path / "two.csv", "--no-browser") as (url, _):
        address, token = url.split("/#token=")
        page = chromium.new_context().new_page()
        page.goto(url)
        expect(page.locator("#count")).to_contain_text("judged", timeout=60_000)
        with Client(address, token) as client:
            client.judge("a", "b", "same")
            page.keyboard.press("d")
            expect(page.locator("#pair")).to_be_hidden(timeout=30_000)
            expect(page.locator("#message")).to_have_text("All pairs were judged.")
            expect(page.locator("#count")).to_have_text("1 judged", timeout=30_000)
            expect(page.locator("#pair")).to_have_attribute("aria-busy", "false")
            press(page, "z")
            assert page.inner_text("#count") == "0 judged"
            assert [event.answer for event in client.judgements()] == ["same", ""]
        page.context.close()


def test_two_projects_in_one_browser_keep_their_tokens(chromium, texts, tmp_path):
    options = ["--vectors", "v", "--no-browser", "--log"]
    context = chromium.new_context()
    with (
        running("label", texts, *options, tmp_path / "a") as (first, _),
        running("label", texts, *options, tmp_path / "b") as (second, _),
    ):
        pages = []
        for url in (first, second):
            pages.append(context.new_page())
            pages[-1].goto(url)
            expect(pages[-1].locator("#count")).to_contain_text("judged", timeout=60_000)
        for page in pages:
            press(page, "s")
            assert page.inner_text("#count") == "1 judged"
    context.close()


def test_the_page_works_from_another_machine_over_plain_http(chromium, texts, tmp_path):
    """Where browsers offer fewer functions than to a page from this machine."""
    with bind("0.0.0.0", 0) as listening:
        network = [url for url in addresses(listening) if "127.0.0.1" not in url]
    if not network:
        pytest.skip("this machine is in no network")
    host = network[0].removeprefix("http://").rpartition(":")[0]
    options = ["--vectors", "v", "--log", tmp_path / "log", "--host", "0.0.0.0"]
    with page_of(chromium, texts, *options, host=host) as page:
        assert not page.evaluate("isSecureContext")
        press(page, "s")
        press(page, "z")
        assert page.inner_text("#count") == "0 judged"


def test_a_screen_reader_is_told_of_each_pair_and_of_differences(chromium, texts, tmp_path):
    with page_of(chromium, texts, "--vectors", "v", "--log", tmp_path / "log") as page:
        announcement = page.locator("#announcement")
        expect(announcement).to_have_attribute("aria-live", "polite")
        first = announcement.text_content()
        assert first.startswith("Next pair. First: thing ")
        press(page, "s")
        assert announcement.text_content() != first
        style = "getComputedStyle(document.querySelector('mark'), '::before').content"
        assert "differs" in page.evaluate(style)


@pytest.mark.parametrize("width", [390, 1200])
def test_rows_are_one_table_that_fits(chromium, tmp_path, width):
    path = tmp_path / "rows.csv"
    names = ["manufacturer", "weight", "نص", *(f"a_name_of_{'x' * 60}_{i}" for i in range(27))]
    rows = ["Assam & sons,1.23456789012345678,مرحبا", "Ceylon,2,tea", "Java,4,coffee"]
    filled = [f"{row},{','.join('v' * 50 for _ in range(27))}" for row in rows]
    path.write_text("\n".join([",".join(names), *filled]), encoding="utf-8")
    with page_of(chromium, path, viewport={"width": width, "height": 740}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        fits = "table => table.parentElement.scrollWidth <= table.parentElement.clientWidth"
        assert page.locator("table").evaluate(fits)
        assert page.get_by_role("rowheader").count() == 30
        for row in page.locator("tr:not(.names)").all():
            first, second = (cell.bounding_box() for cell in row.locator("td").all())
            assert first["y"] == second["y"]
            assert first["x"] + first["width"] <= second["x"] + 1
            assert second["x"] + second["width"] <= width
        head = page.get_by_role("rowheader", name="manufacturer")
        assert head.bounding_box()["height"] < 36, "one line"
        direction = "cell => getComputedStyle(cell).direction"
        directions = {
            cell.inner_text(): cell.evaluate(direction)
            for cell in page.locator("tr:not(.names) > *").all()
        }
        assert directions["نص"] == directions.get("مرحبا", "rtl") == "rtl"
        assert directions["manufacturer"] == directions["v" * 50] == "ltr"
        found = AXE.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()

"""Pages in a real browser: nothing breaks, nothing leaks, nothing from the data runs."""

import itertools
import json

import pytest
from report_browser import Visit, browser, why_no_browser
from report_cases import CASES, HOSTILE, page_of

pytestmark = [
    pytest.mark.skipif(bool(why_no_browser()), reason=why_no_browser() or ""),
    pytest.mark.xdist_group("report"),
]


@pytest.fixture(scope="module")
def running():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def opened(running, folder, case, **options):
    path = folder / f"{case}.html"
    if not path.exists():
        path.write_text(page_of(case), encoding="utf-8")
    return Visit(running, path, **options)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("case", CASES)
def test_no_error_no_request_no_overflow(running, folder, case, width, scheme):
    visit = opened(running, folder, case, width=width, scheme=scheme)
    page = visit.page
    page.click("#tables")
    assert page.evaluate("[...document.querySelectorAll('details')].every(d => d.open)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """() => [...document.querySelectorAll('main *')].filter(e => {
            if (e.closest('.scroll, pre, svg')) return false;
            return e.getBoundingClientRect().right > innerWidth + 1;
        }).map(e => e.outerHTML.slice(0, 200))"""
    )
    assert wide == []
    assert visit.messages == []
    assert [url for url in visit.requests if not url.startswith(("file:", "data:"))] == []
    visit.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("case", ["labels", "pairs", "many"])
def test_axe_finds_nothing(running, folder, case, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    visit = opened(running, folder, case, scheme=scheme)
    visit.page.click("#tables")
    # The page's own policy forbids scripts other than its own: axe is let in by the debugger.
    found = axe.run(visit.page)
    problems = [(one["id"], one["nodes"][0]["html"][:200]) for one in found.response["violations"]]
    assert problems == []
    checked = {one["id"] for one in found.response["passes"]}
    assert {"color-contrast", "image-alt", "svg-img-alt"} - checked <= {"image-alt"}
    visit.close()


def test_axe_finds_what_is_wrong(running, folder):
    """The check itself can fail."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    visit = opened(running, folder, "labels")
    visit.page.evaluate("document.querySelector('figure svg').removeAttribute('aria-label')")
    visit.page.evaluate("document.querySelector('h1').style.color = '#dddddd'")
    found = {one["id"] for one in axe.run(visit.page).response["violations"]}
    assert {"color-contrast", "svg-img-alt"} <= found
    visit.close()


def test_scripts_in_the_data_do_not_run(running, folder):
    visit = opened(running, folder, "hostile")
    page = visit.page
    page.wait_for_timeout(200)
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("document.scripts.length") == 1
    assert page.evaluate("[...document.images].filter(i => !i.src.startsWith('data:')).length") == 0
    assert page.evaluate("document.title").startswith(HOSTILE)
    assert page.inner_text("h1") == f"Which metric for {HOSTILE}?"
    handlers = "[...document.querySelectorAll('*')].filter(e => e.onload || e.onerror).length"
    assert page.evaluate(handlers) == 0
    visit.close()


def test_the_policy_stops_a_script_that_got_in(running, folder):
    """Without escaping, the page would still not run it."""
    evil = page_of("labels").replace("<main", "<script>window.hacked = 1</script><main", 1)
    path = folder / "evil.html"
    path.write_text(evil, encoding="utf-8")
    visit = Visit(running, path)
    assert visit.page.evaluate("typeof window.hacked") == "undefined"
    assert any("Content Security Policy" in message for message in visit.messages)
    visit.close()


def test_theme_sorting_and_keyboard(running, folder):
    visit = opened(running, folder, "labels")
    page = visit.page
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.evaluate(background) != light
    names = (
        "[...document.querySelectorAll('table.sortable tbody tr')].map(r => r.cells[1].innerText)"
    )
    before = page.evaluate(names)
    page.click("table.sortable thead th:nth-child(2) button")
    errors = [float(text.rstrip("%")) for text in page.evaluate(names)]
    assert errors == sorted(errors)
    assert len(errors) == len(before) == 4
    assert page.get_attribute("table.sortable thead th:nth-child(2)", "aria-sort") == "ascending"
    visit.close()


def test_a_table_that_scrolls_says_so(running, folder):
    for width, shown in ((390, True), (1200, False)):
        visit = opened(running, folder, "labels", width=width)
        assert visit.page.is_visible(".swipe") == shown
        visit.page.emulate_media(media="print")
        assert not visit.page.is_visible(".swipe")
        visit.close()


def test_paper_is_light_and_has_all_figures(running, folder):
    visit = opened(running, folder, "labels", scheme="dark")
    page = visit.page
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible(".tools")
    assert all(box.is_visible() for box in page.query_selector_all("figure svg"))
    visit.close()


def test_headings_are_in_order_and_figures_have_words(running, folder):
    visit = opened(running, folder, "labels")
    levels = visit.page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    figures = visit.page.evaluate(
        """[...document.querySelectorAll('figure')].map(f => [
            f.querySelector('svg').getAttribute('aria-label'),
            f.querySelector('figcaption').innerText,
            f.querySelectorAll('details table tbody tr').length])"""
    )
    assert len(figures) >= 10, json.dumps(figures)
    assert all(len(alt) > 20 and caption and rows for alt, caption, rows in figures)
    visit.close()

"""The report of a labelling project: what it says, and that it has no empty tables."""

import re

import pytest

from likewise.live.report import report_html

CONFLICT = {"left": "<a>", "right": "b", "answers": {"ann": "same", "bob": "different"}}
POINT = {"judgements": 50, "error": 0.125, "low": 0.05, "high": 0.25}


def report(*, curve=(), by_annotator=None, conflicts=(), **audit):
    progress = {
        "items": 10,
        "judgements": 3,
        "learned": 2,
        "choice": "active",
        "curve": list(curve),
        "audit": {"pairs": 1, "promise": "Nothing is promised.", **audit} if audit else None,
        "stop": {"message": "Go on."},
        "notices": [],
    }
    agreed = {"n_pairs": 1, "n_agreed": 0, "kappa": None}
    agreed |= {"by_annotator": by_annotator or {}, "conflicts": list(conflicts)}
    return report_html(progress, agreed)


def test_tables_without_rows_are_left_out():
    assert re.findall("<h2>(.*?)</h2>", report()) == []
    assert report().count("<table>") == 1


@pytest.mark.parametrize(("fmr", "shown"), [(0.0312, "3.12 %"), (0.0, "0.00 %"), (None, "–")])
def test_error_rates_annotators_and_conflicts(fmr, shown):
    counts = {"judgements": 3, "shared": 2, "agreed": 1}
    html = report(
        curve=[POINT], by_annotator={"ann": counts}, conflicts=[CONFLICT], fmr=fmr, fnmr=0.5
    )
    assert f"<td>FMR on audit pairs: different ones taken for the same</td><td>{shown}</td>" in html
    assert "<td>FNMR on audit pairs: same ones that are missed</td><td>50.00 %</td>" in html
    assert "<tr><td>ann</td><td>3</td><td>2</td><td>1</td></tr>" in html
    assert "<td>&lt;a&gt;</td><td>b</td><td>ann: same, bob: different</td>" in html
    assert "<td>50</td><td>12.50 %</td><td>5.00 %</td><td>25.00 %</td>" in html
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in html
    titles = re.findall("<h2>(.*?)</h2>", html)
    assert [title.split()[0] for title in titles] == ["Ranking", "Annotators", "Conflicts"]

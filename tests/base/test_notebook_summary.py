"""What notebooks show of a fitted estimator."""

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise._runtime.validation import collected_warnings, warn_user
from likewise.evaluation import effective_dimension

WINE = lw.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)
Y = WINE.y


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.cells, self.tags, self._inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._inside = tag in ("td", "th")

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.cells.append(data)


def facts(model):
    html = model._repr_mimebundle_()["text/html"]
    summary = html[: html.index("</table></div>") + 14]
    cells = Cells(summary).cells
    return list(zip(cells[::2], cells[1::2], strict=True))


@pytest.mark.parametrize("name", ["LMNN", "ITML", "RCA", "MCML", "PAMetric", "NCA"])
def test_the_summary_has_the_numbers_of_the_fit(name):
    model = getattr(lw, name)().fit(X, Y)
    found = dict(facts(model))
    assert found["rank"] == f"{effective_dimension(model.components_)} of 13 directions"
    for attribute, words in (("objective_", "objective"), ("duality_gap_", "relative duality gap")):
        assert (words in found) == hasattr(model, attribute)
        if words in found:
            assert float(found[words]) == pytest.approx(getattr(model, attribute), rel=1e-5)
    if hasattr(model, "converged_"):
        assert found["converged"] == ("yes" if model.converged_ else "no")


def test_warnings_of_the_fit_are_shown_once_and_gone_after_another_fit():
    model = lw.LMNN(max_iter=2, tol=1e-9)
    with pytest.warns(UserWarning, match="without converging"):
        model.fit(X, Y)
    (text,) = [value for name, value in facts(model) if name == "warning"]
    assert "stopped after max_iter=2" in text
    model.set_params(max_iter=500, tol=0.1).fit(X, Y)
    assert not [value for name, value in facts(model) if name == "warning"]


def test_warnings_of_a_metric_inside_are_those_of_the_whole():
    judge = lw.PairClassifier(lw.LMNN(max_iter=1, tol=1e-9))
    with pytest.warns(UserWarning, match="without converging"):
        judge.fit(X, Y)
    found = facts(judge)
    assert [value for name, value in found if name == "warning"]
    assert dict(found)["promise"] == judge.promise_
    assert float(dict(found)["threshold"]) == pytest.approx(judge.threshold_, rel=1e-5)


def test_scikit_learn_decides_whether_html_is_shown():
    model = lw.RCA().fit(X, Y)
    assert "likewise-summary" in model._repr_html_()
    assert model._repr_mimebundle_()["text/plain"] == "RCA()"
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}
    assert "likewise-summary" not in make_pipeline(StandardScaler(), lw.RCA())._repr_html_()


@pytest.mark.parametrize("name", sorted(lw.methods.METHODS))
def test_every_estimator_shows_itself_fitted_or_not(name):
    model = lw.methods.METHODS[name].learner()
    assert "likewise-summary" not in model._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:60], np.arange(60) % 2)
    html = model._repr_html_()
    assert html.count("likewise-summary") == 1
    assert f"<strong>{name}</strong>" in html
    assert "likewise-summary" not in clone(model)._repr_html_()


def test_everything_is_escaped():
    class Hostile(lw.RCA):
        """<script>alert(1)</script> `code`"""

    model = Hostile().fit(X, Y)
    model._fit_warnings = ("<img src=x onerror=alert(1)>\x1b[31m",)
    html = model._repr_html_()
    summary = html[: html.index("</table></div>")]
    assert not {"script", "img"} & set(Cells(summary).tags)
    assert "\x1b" not in summary
    assert re.search("&lt;img src=x", summary)


def test_collected_warnings_reach_all_blocks_around():
    with warnings.catch_warnings(), collected_warnings() as outer:
        warnings.simplefilter("ignore")
        warn_user("one")
        with collected_warnings() as inner:
            warn_user("two")
    with pytest.warns(UserWarning, match="outside"):
        warn_user("outside")
    assert (outer, inner) == (["one", "two"], ["two"])


def test_a_model_file_does_not_depend_on_what_was_shown(tmp_path):
    files = []
    for _ in range(2):
        with pytest.warns(UserWarning, match="without converging"):
            model = lw.LMNN(max_iter=2, tol=1e-9).fit(X, Y)
        model.save(tmp_path / "m.safetensors")
        files.append((tmp_path / "m.safetensors").read_bytes())
    assert files[0] == files[1], "neither times nor warnings are in it"
    assert "likewise-summary" in lw.load(tmp_path / "m.safetensors")._repr_html_()

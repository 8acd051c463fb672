"""What a report says is computed on rows that the metric has not seen, and is right."""

import json
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from report_cases import CASES, DIGITS, HOSTILE, WINE, page_of, summary_of
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.report import render, summarise, write_report
from likewise.report._held_out import split_pairs, split_rows

QUICK = {"methods": ["Euclidean", "RCA"], "n_repeats": 1}


class Spy(lw.RCA):
    """Remembers every row that it was fitted to."""

    seen = []

    def fit(self, X, y=None, chunks=None):
        Spy.seen.append(np.asarray(X).copy())
        return super().fit(X, y)


def parts_of(X, y, seed=0, groups=None):
    classes, codes = np.unique(y, return_inverse=True)
    return split_rows(X, codes, classes, groups, standardize=True, random_state=seed)


def test_evidence_comes_from_rows_that_no_fit_has_seen():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 3
    X += y[:, None]
    comparison = lw.evaluation.compare(
        X, y, {"Euclidean": lw.Euclidean(), "Spy": Spy()}, n_repeats=1
    )
    Spy.seen.clear()
    found = summarise(X, y, comparison=comparison)
    held = parts_of(X, y)
    fitted = {row.tobytes() for seen in Spy.seen for row in seen}
    rows = {row.tobytes(): number for number, row in enumerate(held.X)}
    assert len(Spy.seen) > 3, "the fit, and those of the learning curve"
    used = {rows[row] for row in fitted}
    assert used == set(held.fit_rows)
    tested = set(found["embedding"]["rows"])
    assert tested == set(held.test_rows)
    pairs = set(held.test_pairs.index.ravel()), set(held.threshold_pairs.index.ravel())
    assert not used & tested
    assert not used & pairs[0]
    assert not used & pairs[1]
    assert pairs[0] <= tested
    assert not pairs[0] & pairs[1], "the threshold is from other rows than its error rates"
    neighbours = found["neighbors"]["gained"] + found["neighbors"]["lost"]
    for example in neighbours:
        assert example["item"]["row"] in tested
        assert {one["row"] for one in example["before"] + example["after"]} <= used
    assert (found["split"]["n_fit"], found["split"]["n_test"]) == (len(used), len(tested))


def test_groups_are_never_in_two_parts():
    groups = np.arange(300) // 5
    rng = np.random.default_rng(1)
    held = parts_of(rng.normal(size=(300, 3)), rng.integers(3, size=300), groups=groups)
    parts = [held.fit_rows, held.test_rows, np.unique(held.threshold_pairs.index)]
    for one in range(3):
        for other in range(one):
            assert not set(groups[parts[one]]) & set(groups[parts[other]])


def test_pairs_share_no_item_between_parts():
    rng = np.random.default_rng(0)
    index, same = lw.constraints.random_pairs(WINE.y, 800, distinct=True, random_state=0)
    held = split_pairs(
        WINE.X, lw.constraints.Pairs(index, same), None, standardize=True, random_state=0
    )
    items = [
        set(held.fit_rows),
        set(held.threshold_pairs.index.ravel()),
        set(held.test_pairs.index.ravel()),
    ]
    assert not items[0] & items[1]
    assert not items[0] & items[2]
    assert not items[1] & items[2]
    sizes = [len(held.fit_pairs), len(held.threshold_pairs), len(held.test_pairs)]
    assert sum(sizes) + held.n_dropped == 800
    rows = held.fit_rows[held.fit_pairs.index]
    assert (held.fit_pairs.same == (WINE.y[rows[:, 0]] == WINE.y[rows[:, 1]])).all()
    kept = rng.random(sizes[0]) < 0.5
    model = held.fitted(lw.ITML(), kept)
    assert model.n_features_in_ == 13


def test_numbers_are_those_of_scikit_learn():
    found = summary_of("labels")
    X, y = DIGITS.X[:700], DIGITS.y[:700]
    held = parts_of(X, y)
    scaled = StandardScaler().fit(X[held.fit_rows]).transform(X)
    np.testing.assert_allclose(held.X, scaled)
    name = found["shown"]["name"]
    model = lw.LMNN(random_state=0) if name == "LMNN" else getattr(lw, name)()
    metric = model.fit(scaled[held.fit_rows], y[held.fit_rows])
    for when, transform in (("before", lambda Z: Z), ("after", metric.transform)):
        knn = KNeighborsClassifier(1).fit(transform(scaled[held.fit_rows]), y[held.fit_rows])
        near = knn.kneighbors(transform(scaled[held.test_rows]), 3, return_distance=False)
        votes = [[(y[held.fit_rows][row] == c).sum() for c in range(10)] for row in near]
        # Where two classes tie, the nearest of three different ones decides.
        predicted = [
            np.argmax(v) if max(v) > 1 else y[held.fit_rows][row[0]]
            for v, row in zip(votes, near, strict=True)
        ]
        error = np.mean(predicted != y[held.test_rows])
        assert found["errors"][when] == pytest.approx(error)
    points = np.array(found["embedding"]["metrics"][name]["points"])
    expected = PCA(2).fit_transform(metric.transform(scaled[held.test_rows]))
    signs = np.sign((points * expected).sum(axis=0))
    np.testing.assert_allclose(points * signs, expected, atol=2e-3 * np.abs(expected).max())
    index, same = held.test_pairs
    distances = metric.pair_distance(scaled[index[:, 0]], scaled[index[:, 1]])
    one = found["verification"]["metrics"][name]
    assert one["auc"] == pytest.approx(roc_auc_score(same, -distances))
    assert one["fmr"] == pytest.approx((distances[~same] <= one["threshold"]).mean())
    assert one["fnmr"] == pytest.approx((distances[same] > one["threshold"]).mean())
    other, flags = held.threshold_pairs
    theirs = metric.pair_distance(scaled[other[:, 0]], scaled[other[:, 1]])
    errors = (theirs[~flags] <= one["threshold"]).mean(), (theirs[flags] > one["threshold"]).mean()
    assert errors[0] == pytest.approx(errors[1], abs=0.01), "of equal errors on its own pairs"
    curve = one["curve"]
    for threshold, fmr, fnmr in zip(curve["threshold"], curve["fmr"], curve["fnmr"], strict=True):
        assert fmr == pytest.approx((distances[~same] <= threshold).mean())
        assert fnmr == pytest.approx((distances[same] > threshold).mean())
    assert (np.diff(curve["fmr"]) >= 0).all()
    assert found["learning"]["errors"]["Euclidean"][-1] == [found["errors"]["before"]]
    assert found["learning"]["sizes"][-1] == len(held.fit_rows)
    L = metric.components_
    np.testing.assert_allclose(
        found["spectrum"]["eigenvalues"],
        [v for v in np.linalg.eigvalsh(L.T @ L)[::-1] if v > 1e-12 * np.linalg.norm(L, 2) ** 2],
        rtol=1e-3,
    )


def test_decisions_that_change_are_counted():
    found = summary_of("pairs")["decisions"]
    assert found["n_corrected"] >= len(found["corrected"])
    for example in found["corrected"]:
        before, after = example["before"] <= 1, example["after"] <= 1
        assert after == example["same"] != before
    for example in found["spoilt"]:
        assert (example["before"] <= 1) == example["same"] != (example["after"] <= 1)


@pytest.mark.parametrize("case", CASES)
def test_a_summary_survives_json_and_gives_the_same_page(case):
    again = json.loads(json.dumps(summary_of(case), allow_nan=False))
    assert again == summary_of(case)
    assert render(again) == page_of(case)


def test_dead_features_leaks_and_overfit_are_found():
    kinds = {warning["kind"] for warning in summary_of("many")["warnings"]}
    assert "dead features" in kinds
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 80)), np.arange(400) % 2
    found = summarise(X, y, methods=["Euclidean", "LMNN"], n_repeats=1)
    texts = {warning["kind"]: warning["text"] for warning in found["warnings"]}
    assert "0.0% error on rows that it was fitted to" in texts["overfit"], "labels are random"
    copied = summarise(np.repeat(WINE.X, 2, axis=0), np.repeat(WINE.y, 2), **QUICK)
    leaks = [w["text"] for w in copied["warnings"] if w["kind"] == "leakage"]
    assert leaks
    assert " of 72 test rows are equal" in leaks[0]
    clean = summarise(
        np.repeat(WINE.X, 2, axis=0),
        np.repeat(WINE.y, 2),
        groups=np.arange(356) // 2,
        **QUICK,
    )
    assert not [w for w in clean["warnings"] if w["kind"] == "leakage"]


@pytest.mark.parametrize("codes", [[0, 1, 2], [7, -1, 3]], ids=str)
def test_a_feature_that_gives_the_class_is_named(codes):
    X = np.column_stack([WINE.X, np.array(codes, dtype=float)[WINE.y], WINE.y == 1])
    names = [*WINE.feature_names, "stock", "one"]
    found = summarise(X, WINE.y, feature_names=names, **QUICK)
    leaks = [w["text"] for w in found["warnings"] if w["kind"] == "leakage"]
    assert leaks == [
        "Feature stock alone tells all 3 classes apart without an error: if it is known only "
        "together with the label, leave it out (--drop on the command line; not in X in Python)."
    ]


def test_remarks_stand_first_among_the_warnings():
    found = summarise(WINE.X, WINE.y, remarks=["2 cells were <filled>."], **QUICK)
    assert found["warnings"][0] == {"kind": "data", "text": "2 cells were <filled>."}
    assert "<b>Data.</b> 2 cells were &lt;filled&gt;." in render(found)


def test_the_code_of_the_report_runs(capsys):
    code = summary_of("labels")["run"]["python"]
    names = {}
    exec(compile(code, "report", "exec"), names)
    assert summary_of("labels")["answer"]["sentence"] in capsys.readouterr().out
    assert names["model"].n_features_in_ == 64


def test_a_classifier_without_a_map_is_compared_but_not_drawn():
    found = summarise(WINE.X, WINE.y, methods=["Euclidean", "PLML", "RCA"], n_repeats=1)
    assert found["shown"]["name"] == "RCA"
    alone = summarise(WINE.X, WINE.y, methods=["Euclidean"], n_repeats=1)
    assert alone["shown"]["name"] == "Euclidean"
    assert len(alone["embedding"]["metrics"]) == 1
    assert "Which metric" in render(alone)
    cosine = summarise(WINE.X, WINE.y, methods=["Euclidean", "cosine"], n_repeats=1)
    assert "no matrix" in cosine["spectrum"]["missing"]
    assert "no matrix" in render(cosine)


def test_classes_of_single_rows_leave_no_pairs():
    y = np.append(np.arange(20), np.arange(20))
    X = np.random.default_rng(0).normal(size=(40, 3)) + y[:, None]
    found = summarise(X, y, **QUICK)
    assert "no two rows of one class" in found["verification"]["missing"]
    assert "no two rows of one class" in render(found)


class Structure(HTMLParser):
    """Tags, ids and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.attributes, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("case", CASES)
def test_a_page_is_one_small_file_with_every_section(case):
    page = page_of(case)
    found = Structure(page)
    assert len(page.encode()) < 1_000_000
    assert found.tags.count("h1") == found.tags.count("script") == 1
    assert len(set(found.ids)) == len(found.ids)
    assert not {"link", "iframe", "object"} & set(found.tags)
    assert not [name for name in found.attributes if name.startswith("on")]
    sections = {
        "warnings",
        "comparison",
        "embedding",
        "pairs",
        "curves",
        "learning",
        "metric",
        "run",
    }
    assert sections <= set(found.ids)
    assert {"neighbors", "decisions"} & set(found.ids) == (
        {"decisions"} if case == "pairs" else {"neighbors"}
    )
    assert found.tags.count("figure") == found.tags.count("svg")
    assert found.tags.count("details") == found.tags.count("figure")
    text = " ".join(found.text)
    assert summary_of(case)["answer"]["sentence"] in text
    for row in summary_of(case)["comparison"]["rows"]:
        assert all(cell in text for cell in row["cells"])
    pictures = page.count("data:image/png")
    assert (pictures > 0) == (case in ("labels", "many"))


def test_text_of_the_data_is_escaped_everywhere():
    page = page_of("hostile")
    assert HOSTILE not in page
    assert "<img src=x" not in page
    assert page.count("<script>") == 1
    assert "49" not in Structure(page).text[0:3]
    assert HOSTILE in "".join(Structure(page).text)


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "report.html"
    found = write_report(path, WINE.X, WINE.y, name="wine", **QUICK)
    assert path.read_text(encoding="utf-8") == render(found)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="there is no method"):
        write_report(path, WINE.X, WINE.y, methods=["Nothing"])
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        write_report(tmp_path / "nowhere" / "report.html", WINE.X, WINE.y, **QUICK)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "either y or both pairs and same are needed"),
        ({"y": WINE.y, "pairs": [[0, 1]]}, "either y or both pairs and same"),
        ({"pairs": [[0, 1]]}, "either y or both pairs and same"),
        ({"y": WINE.y[:3]}, r"y has shape \(3,\)"),
        ({"y": WINE.y, "texts": ["a"]}, "texts has 1 entries"),
        ({"y": WINE.y, "image_shape": (3, 3)}, r"image_shape is \(3, 3\), but rows of 13"),
        ({"y": WINE.y, "image_shape": 4}, "image_shape is 4, but height and width"),
        ({"y": WINE.y, "class_names": ["a"]}, "class_names has 1 names"),
        ({"y": WINE.y, "feature_names": ["a"]}, "feature_names has 1 names"),
        ({"pairs": [[0, 1], [2, 3]], "same": [True, False]}, "too few to split"),
        ({"y": np.zeros(178)}, "y has one class only"),
        (
            {"y": WINE.y, "methods": {"broken": lw.LMNN(n_neighbors=-1)}},
            "no method could be fitted",
        ),
    ],
)
def test_bad_input(arguments, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        summarise(WINE.X, **({"n_repeats": 1} | arguments))
    assert "\n" not in str(caught.value)


def test_render_needs_a_summary_and_the_extra(monkeypatch):
    with pytest.raises(ValueError, match="summary is 3, but what summarise returns is needed"):
        render(3)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "likewise\[report\]"'):
        render(summary_of("pairs"))
    with pytest.raises(ImportError, match=r'pip install "likewise\[report\]"'):
        write_report("x.html", WINE.X, WINE.y)


def test_steps_are_reported(tmp_path):
    steps = []
    summarise(
        WINE.X,
        WINE.y,
        progress=lambda done, total, what: steps.append((done, total, what)),
        **QUICK,
    )
    assert all(0 <= done <= total for done, total, _ in steps)
    assert {"fitting RCA", "embedding", "neighbours"} <= {what for *_, what in steps}
    own = steps[[what for *_, what in steps].index("fitting RCA") :]
    totals = {total for _, total, _ in own}
    assert totals == {len(own)}
    assert [done for done, *_ in own] == list(range(len(own)))
    write_report(
        tmp_path / "r.html",
        WINE.X,
        WINE.y,
        progress=lambda done, total, what: steps.append((done, total, what)),
        **QUICK,
    )
    assert steps[-1] == (0, 1, "drawing the figures")


@pytest.mark.slow
def test_a_report_of_100_000_rows_is_small_and_fast():
    rng = np.random.default_rng(0)
    y = rng.integers(20, size=100_000)
    X = 0.45 * rng.normal(size=(20, 100))[y] + rng.normal(size=(100_000, 100))
    comparison = lw.evaluation.compare(X[:4000], y[:4000], **QUICK)
    start = time.process_time()
    page = render(summarise(X, y, comparison=comparison))
    assert time.process_time() - start < 30, "with the fits, which take a second"
    assert len(page.encode()) < 1_000_000

"""What stands where on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from likewise._runtime.validation import pluralize
from likewise.report._evidence import BEFORE
from likewise.report._figures import (
    FigureOnPage,
    convergence_figure,
    curve_figures,
    embedding_figures,
    features_figure,
    histogram_figures,
    learning_figure,
    neighbors_figure,
    spectrum_figure,
)
from likewise.report._held_out_errors import within_chance

_TAGS = {
    "use": "A METRIC TO USE",
    "no difference": "NO DIFFERENCE THAT MATTERS",
    "undecided": "TOO CLOSE TO CALL",
    "untested": "NOT TESTED",
}


def tag_of(answer: dict[str, Any]) -> str:
    """Return what stands before the sentence of the answer."""
    if answer["outcome"] == "use" and answer["recommended"] == BEFORE:
        return f"{BEFORE.upper()} IS BEST"
    return _TAGS[answer["outcome"]]


@dataclass(frozen=True)
class Section:
    """A heading, what is said below it, and figures."""

    key: str
    heading: str
    paragraphs: Sequence[str] = ()
    figures: Sequence[FigureOnPage] = field(default_factory=list)


def sections_of(summary: dict[str, Any]) -> list[Section]:
    """Return the sections of the page, in order."""
    found = [
        Section("warnings", "Warnings", _about_warnings(summary)),
        Section("comparison", "All metrics on held-out rows"),
        Section(
            "embedding",
            "Before and after",
            [_about_split(summary), _about_shown(summary)],
            embedding_figures(summary["embedding"]),
        ),
        *_verification(summary),
    ]
    if "neighbors" in summary:
        found.append(
            Section(
                "neighbors",
                "Whose neighbours change",
                _about_neighbors(summary),
                [neighbors_figure(summary["neighbors"])],
            )
        )
    if "decisions" in summary:
        found.append(Section("decisions", "Which decisions change", _about_decisions(summary)))
    found.append(
        _one("learning", "Does more data help?", summary["learning"], learning_figure, _LEARNING)
    )
    found.append(_metric_section(summary))
    found.append(Section("run", "What was run"))
    return found


_LEARNING = "A curve that still falls at its end says that more data would help."


def _one(key: str, heading: str, found: dict[str, Any], draw: Any, text: str) -> Section:
    if "missing" in found:
        return Section(key, heading, [found["missing"]])
    return Section(key, heading, [text], [draw(found)])


def _about_warnings(summary: dict[str, Any]) -> list[str]:
    checked = (
        "Checked: overfit, convergence, features without variance or weight, features that alone "
        "give the class, and held-out rows that are copies of others."
    )
    return [checked] if summary["warnings"] else [f"None. {checked}"]


def _about_split(summary: dict[str, Any]) -> str:
    split = summary["split"]
    unit = split["unit"]
    sentence = (
        f"The metric was fitted to {pluralize(split['n_fit'], unit)}, the threshold was chosen on "
        f"pairs of {split['n_threshold']} others, and all that follows comes from "
        f"{pluralize(split['n_test'], unit)} that neither of them has seen."
    )
    if split["n_shown"] < split["n_test"]:
        sentence += f" Of these, {split['n_shown']} at random are shown."
    if split["n_dropped"]:
        sentence += f" {split['n_dropped']} pairs have items in different parts and are left out."
    return sentence


def _about_shown(summary: dict[str, Any]) -> str:
    name, unit = summary["shown"]["name"], summary["split"]["unit"]
    sentence = f"The figures are about {name}. {summary['shown']['why']}"
    if name == BEFORE:
        return sentence
    return (
        f"{sentence} It was chosen by cross-validation on all {unit}s, the held-out ones among "
        "them: its numbers here can be slightly too good."
    )


def _verification(summary: dict[str, Any]) -> list[Section]:
    found = summary["verification"]
    if "missing" in found:
        return [Section("pairs", "Same or different", [found["missing"]])]
    name = summary["shown"]["name"]
    one = found["metrics"][name]
    text = (
        f"Pairs of at most {one['threshold']:.4g} are taken as the same. On "
        f"{found['n_same']} same and {found['n_different']} different pairs of "
        f"{found['n_items']} held-out {summary['split']['unit']}s, {name} then has "
        f"{_rate(one, 'fmr')} false matches and {_rate(one, 'fnmr')} false non-matches."
    )
    chosen = (
        f"The threshold is the one of equal error rates on {found['n_threshold_pairs']} other "
        "pairs. PairClassifier finds one for an error rate of your choice."
    )
    return [
        Section("pairs", "Same or different", [text, chosen], histogram_figures(found)),
        Section("curves", "Every threshold", (), curve_figures(found)),
    ]


def _rate(one: dict[str, Any], kind: str) -> str:
    low, high = one[f"{kind}_interval"]
    return f"{one[kind]:.1%} ({low:.1%} to {high:.1%})"


def _about_neighbors(summary: dict[str, Any]) -> list[str]:
    found, errors, name = summary["neighbors"], summary["errors"], summary["shown"]["name"]
    counts, k = found["counts"], found["n_neighbors"]
    gained = sum(counts[i][j] for i in range(k + 1) for j in range(i + 1, k + 1))
    lost = sum(counts[i][j] for i in range(k + 1) for j in range(i))
    chance = ""
    if _may_be_chance(errors):
        chance = ", which on so few rows may be chance: the answer rests on all rows"
    return [
        f"Under {name}, the number of neighbours of their own class among the {k} nearest rises "
        f"for {gained} of {found['n_rows']} held-out rows and falls for {lost}. On average "
        f"{found['mean_replaced']:.0%} of a row's neighbours are others. The vote of the "
        f"neighbours is wrong for {errors['before']:.2%} before and {errors['after']:.2%} "
        f"after{chance}.",
    ]


def _about_decisions(summary: dict[str, Any]) -> list[str]:
    found = summary["decisions"]
    if "missing" in found:
        return [found["missing"]]
    return [
        f"Of {found['n_pairs']} held-out pairs, {found['n_corrected']} are decided wrongly by the "
        f"Euclidean distance and rightly by {summary['shown']['name']}; {found['n_spoilt']} the "
        "other way round. Shown are those whose distance changes most."
    ]


def _metric_section(summary: dict[str, Any]) -> Section:
    paragraphs, figures = [f"{summary['shown']['call']}, as fitted to the first part."], []
    for key, draw in (
        ("features", features_figure),
        ("spectrum", spectrum_figure),
        ("convergence", convergence_figure),
    ):
        if "missing" not in summary[key]:
            figures.append(draw(summary[key]))
        elif summary[key]["missing"] not in paragraphs:
            paragraphs.append(summary[key]["missing"])
    return Section("metric", "The metric itself", paragraphs, figures)


def _trust(errors: dict[str, Any]) -> str:
    """Return the intervals of the two errors, and whether their difference may be chance."""
    if "p_value" not in errors:  # of a summary that was stored by an older version
        return ""
    bounds = [
        f"{100 * low:.0f}–{100 * high:.0f}%"
        for low, high in (errors["before_interval"], errors["after_interval"])
    ]
    sentence = f"; {errors['confidence']:.0%} intervals {bounds[0]} and {bounds[1]}"
    return f"{sentence}: may be chance" if _may_be_chance(errors) else sentence


def _may_be_chance(errors: dict[str, Any]) -> bool:
    """Return whether there is a difference, and too few rows to be sure of it."""
    return "p_value" in errors and errors["before"] != errors["after"] and within_chance(errors)


def facts_of(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the numbers that stand below the answer."""
    data, shown = summary["data"], summary["shown"]["name"]
    facts = [(f"{data['n_samples']:,}", "rows"), (f"{data['n_features']:,}", "features")]
    if data["n_classes"] is not None:
        facts.append((f"{data['n_classes']:,}", "classes"))
    if data["n_pairs"] is not None:
        facts.append((f"{data['n_pairs']:,}", "judged pairs"))
    if data["n_groups"] is not None:
        facts.append((f"{data['n_groups']:,}", "groups"))
    if "errors" in summary:
        errors = summary["errors"]
        number = f"{errors['before']:.1%} → {errors['after']:.1%}"
        n_rows = f"{summary['neighbors']['n_rows']:,}"
        words = f"error on {n_rows} held-out rows, Euclidean → {shown}{_trust(errors)}"
        facts.append((number, words))
    if "missing" not in summary["verification"]:
        eers = [one["eer"] for one in summary["verification"]["metrics"].values()]
        number = " → ".join(f"{eer:.1%}" for eer in eers)
        n_items = f"{summary['verification']['n_items']:,} held-out {summary['split']['unit']}s"
        facts.append((number, f"equal error rate of pairs of {n_items}, Euclidean → {shown}"))
    return facts

"""The figures of a report, each with a caption, its content in words, and its data as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape

from likewise.plotting import det, learning_curve, roc
from likewise.plotting._convergence import Record, draw_convergence
from likewise.plotting._curves import BAND_ALPHA
from likewise.plotting._embedding import Projection, draw_embedding
from likewise.plotting._feature_weights import draw_feature_weights, largest_shares
from likewise.plotting._neighbors_changed import draw_neighbors_changed
from likewise.plotting._pair_histogram import PairHistogram, draw_pair_histogram
from likewise.plotting._spectrum import draw_spectrum
from likewise.report._curves import curves_of
from likewise.report._names import short_names
from likewise.report._svg import svg_style, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_SVG_POINTS = 2000
_MAX_FEATURES = 20
_WIDTH = 4.3


@dataclass(frozen=True)
class Table:
    """Headings and cells; a note where it is not all of the data."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class FigureOnPage:
    """A drawn figure."""

    key: str
    title: str
    caption: str
    svg: Markup
    width: int
    table: Table


def draw_figure(
    key: str,
    title: str,
    caption: str,
    alt: str,
    draw: Callable[[Axes], None],
    table: Table,
    *,
    height: float = 3.1,
    width: float = _WIDTH,
) -> FigureOnPage:
    """Draw into new Axes, and return the figure as part of a page."""
    import matplotlib.pyplot as plt

    with svg_style():
        figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
        draw(ax)
        svg, pixels = to_svg(figure, key, str(escape(alt)))
    return FigureOnPage(key, title, caption, Markup(svg), pixels, table)


def embedding_figures(found: dict[str, Any]) -> list[FigureOnPage]:
    """Draw the held-out rows under each metric."""
    labelled = found["codes"] is not None
    n_rows = len(found["rows"])
    codes = np.array(found["codes"] if labelled else [0] * n_rows, dtype=np.int64)
    classes = np.array(found["classes"] if labelled else [""], dtype=object)
    legend = np.array(short_names(classes.tolist()), dtype=object)
    figures = []
    for number, (name, one) in enumerate(found["metrics"].items()):
        points = np.array(one["points"], dtype=np.float64).reshape(n_rows, 2)
        projected = Projection(points, one["variance_share"])

        def draw(ax: Axes, projected: Projection = projected) -> None:
            draw_embedding(ax, projected, codes, legend, rasterized=n_rows > MAX_SVG_POINTS)
            ax.set_title("")

        share = f"{one['variance_share']:.0%} of the variance"
        figures.append(
            draw_figure(
                f"embedding-{number}",
                name,
                f"{n_rows} held-out rows under {name}; the plane shows {share}.",
                f"Scatter plot of {n_rows} held-out rows under {name}.",
                draw,
                _points_table(found, codes, classes, points),
                height=3.5,
            )
        )
    return figures


def _points_table(found: dict[str, Any], codes: Any, classes: Any, points: Any) -> Table:
    ids, labelled = found.get("ids"), found["codes"] is not None
    rows = found["rows"] if ids is None else ids
    if len(rows) <= MAX_SVG_POINTS:
        cells = [
            [str(row), *([str(classes[code])] if labelled else []), f"{x:.4g}", f"{y:.4g}"]
            for row, code, (x, y) in zip(rows, codes.tolist(), points.tolist(), strict=True)
        ]
        called = "row" if ids is None else "id"
        return Table([called, *(["class"] if labelled else []), "first", "second"], cells)
    cells = []
    for code in np.unique(codes).tolist():
        own = points[codes == code]
        middle, spread = own.mean(axis=0), own.std(axis=0)
        numbers = [f"{value:.4g}" for value in (*middle, *spread)]
        cells.append([str(classes[code]) or "all", str(len(own)), *numbers])
    return Table(
        ["class", "rows", "mean of first", "of second", "deviation of first", "of second"],
        cells,
        f"Of {len(rows)} points, by class.",
    )


def histogram_figures(found: dict[str, Any]) -> list[FigureOnPage]:
    """Draw the distances of test pairs under each metric."""
    figures = []
    for number, (name, one) in enumerate(found["metrics"].items()):
        shares = {kind: np.array(values) for kind, values in one["histogram"].items()}
        histogram = PairHistogram(shares["edges"], shares["same"], shares["different"])
        threshold = one["threshold"]

        def draw(ax: Axes, histogram: PairHistogram = histogram, at: float = threshold) -> None:
            draw_pair_histogram(ax, histogram, at)

        rates = f"{one['fmr']:.1%} false matches and {one['fnmr']:.1%} false non-matches"
        table = Table(
            ["distance from", "to", "same pairs", "different pairs"],
            [
                [f"{low:.4g}", f"{high:.4g}", f"{same:.2%}", f"{different:.2%}"]
                for low, high, same, different in zip(
                    shares["edges"][:-1],
                    shares["edges"][1:],
                    shares["same"],
                    shares["different"],
                    strict=True,
                )
            ],
        )
        figures.append(
            draw_figure(
                f"pairs-{number}",
                name,
                f"At the threshold {threshold:.4g}, which was chosen on other rows: {rates}.",
                f"Histograms of the distances of same and of different pairs under {name}.",
                draw,
                table,
            )
        )
    return figures


def curve_figures(found: dict[str, Any]) -> list[FigureOnPage]:
    """Draw ROC and DET curves of all metrics."""
    rows = [
        [
            name,
            f"{threshold:.4g}",
            f"{fmr:.2%} ({fmr_low:.2%} to {fmr_high:.2%})",
            f"{fnmr:.2%} ({fnmr_low:.2%} to {fnmr_high:.2%})",
        ]
        for name, one in found["metrics"].items()
        for threshold, fmr, fmr_low, fmr_high, fnmr, fnmr_low, fnmr_high in zip(
            *one["curve"].values(), strict=True
        )
    ]
    table = Table(["metric", "threshold", "false match rate", "false non-match rate"], rows)
    summary = "; ".join(
        f"{name}: AUC {one['auc']:.3f}, EER {one['eer']:.1%}"
        for name, one in found["metrics"].items()
    )
    confidence = f"{found['confidence']:.0%}"
    curves = curves_of(found)
    return [
        draw_figure(
            "roc",
            "ROC",
            f"{summary}. Bands hold {confidence} limits of both rates at each threshold.",
            f"ROC curves. {summary}.",
            lambda ax: _draw(roc, curves, ax),
            table,
            height=3.9,
            width=4.1,
        ),
        draw_figure(
            "det",
            "DET",
            "Both error rates on axes that spread out small rates; dots are equal error rates.",
            f"DET curves. {summary}.",
            lambda ax: _draw(det, curves, ax),
            Table(
                ["metric", "equal error rate", "area under the ROC curve"],
                [[name, f"{curve.eer:.2%}", f"{curve.auc:.4f}"] for name, curve in curves.items()],
                "The points of the curves are in the table of the ROC curve.",
            ),
            height=3.9,
            width=4.1,
        ),
    ]


def _draw(function: Callable[..., Axes], drawn: Any, ax: Axes) -> None:
    function(drawn, ax=ax)


def learning_figure(found: dict[str, Any]) -> FigureOnPage:
    """Draw the error against the amount of training data."""
    means = {
        name: [float(np.mean(values)) for values in errors]
        for name, errors in found["errors"].items()
    }
    n_draws = found["n_draws"]
    ends = ", ".join(f"{name} {100 * values[-1]:.2f}%" for name, values in means.items())
    rows = [
        [str(size), *(_with_spread(errors[i]) for errors in found["errors"].values())]
        for i, size in enumerate(found["sizes"])
    ]
    draws = (
        "one draw" if n_draws == 1 else f"mean and standard deviation (the band) of {n_draws} draws"
    )
    return draw_figure(
        "learning",
        "Learning curve",
        f"{found['measure']} on {found['n_tested']} held-out {_tested(found)}; {draws} of each "
        f"smaller size. With all: {ends}.",
        f"Learning curve of {found['measure']}. With all training data: {ends}.",
        lambda ax: _draw_learning(ax, found, means),
        Table([found["unit"], *means], rows),
    )


def _tested(found: dict[str, Any]) -> str:
    return "rows" if found["unit"] == "training rows" else "pairs"


def _with_spread(values: Sequence[float]) -> str:
    spread = f" ± {np.std(values):.2%}" if len(values) > 1 else ""
    return f"{np.mean(values):.2%}{spread}"


def _draw_learning(ax: Axes, found: dict[str, Any], means: dict[str, list[float]]) -> None:
    drawn = dict(reversed(means.items()))
    learning_curve(found["sizes"], drawn, xlabel=found["unit"], ylabel=found["measure"], ax=ax)
    for name, line in zip(drawn, ax.lines, strict=True):
        several = [i for i, values in enumerate(found["errors"][name]) if len(values) > 1]
        sizes = np.array(found["sizes"])[several]
        mean = np.array(means[name])[several]
        spread = np.array([np.std(found["errors"][name][i]) for i in several])
        low, high = np.maximum(mean - spread, 0), mean + spread
        if several:
            ax.fill_between(sizes, low, high, color=line.get_color(), alpha=BAND_ALPHA, linewidth=0)
            ax.set_ylim(top=max(ax.get_ylim()[1], 1.05 * high.max()))
    ax.yaxis.set_major_formatter("{x:.1%}")


def neighbors_figure(found: dict[str, Any]) -> FigureOnPage:
    """Draw right neighbours before and after."""
    counts = np.array(found["counts"], dtype=np.int64)

    def draw(ax: Axes) -> None:
        draw_neighbors_changed(ax, counts)
        ax.set_title("")

    said = "Held-out rows by the neighbours of their own class, before and after"
    return draw_figure(
        "neighbours",
        "Neighbours of the own class",
        f"{said}. Above the diagonal a row has gained some.",
        f"{said}, as a table of numbers.",
        draw,
        Table(
            ["of the own class before", *(f"{after} after" for after in range(len(counts)))],
            [[str(before), *map(str, line)] for before, line in enumerate(counts.tolist())],
        ),
        height=3.6,
        width=3.8,
    )


def spectrum_figure(found: dict[str, Any]) -> FigureOnPage:
    """Draw the eigenvalues of M."""
    values = np.array(found["eigenvalues"], dtype=np.float64)
    total = values.sum() or 1.0

    def draw(ax: Axes) -> None:
        draw_spectrum(ax, values, found["dimension"], found["n_features"])
        ax.set_title("")

    said = f"{found['dimension']} of {found['n_features']} directions matter"
    n_zero = found["n_features"] - len(values)
    zero = f" {n_zero} {'is' if n_zero == 1 else 'are'} zero, at the bottom." if n_zero else ""
    return draw_figure(
        "spectrum",
        "Spectrum",
        f"{said}: their eigenvalues are above a millionth of the largest.{zero}",
        f"Eigenvalues of M in descending order. {said}.",
        draw,
        Table(
            ["direction", "eigenvalue", "share of the sum"],
            [
                [str(number), f"{value:.4g}", f"{value / total:.2%}"]
                for number, value in enumerate([*values.tolist(), *[0.0] * n_zero], 1)
            ],
        ),
    )


def features_figure(found: dict[str, Any]) -> FigureOnPage:
    """Draw the shares of the features in squared distances."""
    shares, names = np.array(found["shares"], dtype=np.float64), found["names"]
    shown = largest_shares(shares, names, _MAX_FEATURES)
    order = np.argsort(-np.abs(shares), kind="stable")
    limit = order[:1000]
    titles = list(names)
    for place, title in zip(
        order, short_names([names[i] for i in order[:_MAX_FEATURES]]), strict=False
    ):
        titles[place] = title
    first = ", ".join(f"{name} {share:.1%}" for name, share in shown[:3])
    rest = ""
    if len(shown) > _MAX_FEATURES:
        name, share = shown[-1]
        rest = f" Not drawn: {name}, {share:.1%} together."
    return draw_figure(
        "features",
        "Features",
        f"Shares of the mean squared distance of two held-out rows; the largest: {first}.{rest}",
        f"Bars of the features' shares of the squared distance. The largest: {first}.",
        lambda ax: draw_feature_weights(ax, shares, titles, _MAX_FEATURES, others=False),
        Table(
            ["feature", "share"],
            [[names[i], f"{shares[i]:.3%}".replace("-", "−")] for i in limit.tolist()],
            "" if len(limit) == len(order) else f"The first 1000 of {len(order)} features.",
        ),
        height=1.0 + 0.24 * min(len(shown), _MAX_FEATURES),
    )


def convergence_figure(found: dict[str, Any]) -> FigureOnPage:
    """Draw objective and bound of the fit."""
    bound = None if found["bound"] is None else np.array(found["bound"])
    record = Record(np.array(found["at"]), found["unit"], np.array(found["objective"]), bound)
    headings = [found["unit"], "objective", *(["lower bound"] if bound is not None else [])]
    columns = [record.at, record.objective, *([] if bound is None else [bound])]
    kept = np.unique(np.linspace(0, len(record.at) - 1, 200).round().astype(int))
    end = "It converged" if found["converged"] else "It did not converge"
    if found["gap"] is not None:
        end += f", with a relative duality gap of {found['gap']:.2g}"
    return draw_figure(
        "convergence",
        "Convergence of the fit",
        f"{end}.",
        f"The objective against {found['unit']}. {end}.",
        lambda ax: draw_convergence(ax, record),
        Table(
            headings,
            [[f"{column[i]:.5g}" for column in columns] for i in kept.tolist()],
            "" if len(kept) == len(record.at) else f"Every few of {len(record.at)} entries.",
        ),
    )

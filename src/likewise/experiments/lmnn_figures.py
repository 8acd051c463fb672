"""Figures of Weinberger and Saul: toy data, images, searches and fewer dimensions."""

from __future__ import annotations

from functools import partial

from likewise.experiments._experiment import (
    Experiment,
    Figure,
    Measure,
    Published,
    Result,
    Size,
)
from likewise.experiments._lmnn_drawings import (
    DIMENSIONS,
    PAPER_ABANDONING,
    PAPER_IMPOSTORS,
    PAPER_LMNN_R,
    PAPER_TREE,
    dimensions,
    draw_circles,
    draw_digits,
    draw_images,
    draw_reduction,
    draw_search,
    draw_zebra,
)
from likewise.experiments._lmnn_images import run_digit_neighbors, run_faces
from likewise.experiments._lmnn_reduction import (
    DESKEWED_METHODS,
    REDUCTION_METHODS,
    SEARCH_METHODS,
    run_reduction,
    run_search,
)
from likewise.experiments._lmnn_toys import (
    CIRCLE_METHODS,
    ZEBRA_METHODS,
    run_circles,
    run_digits,
    run_zebra,
)
from likewise.experiments._papers import LMNN_PAPER

_REDUCED = tuple(f"{size} dimensions" for size in DIMENSIONS)
_METHODS_OF = {
    "zebra": ZEBRA_METHODS,
    "circles": CIRCLE_METHODS,
    "four digits": ("LMNN metrics",),
    "faces": ("LMNN",),
    "digits": ("LMNN",),
    **dict.fromkeys(_REDUCED, (*REDUCTION_METHODS, *DESKEWED_METHODS, *SEARCH_METHODS)),
    _REDUCED[0]: SEARCH_METHODS,  # Figure 13 starts at 15 dimensions
}
_METHODS = tuple(dict.fromkeys(method for methods in _METHODS_OF.values() for method in methods))
_ABSENT = frozenset(
    (dataset, method)
    for dataset, methods in _METHODS_OF.items()
    for method in _METHODS
    if method not in methods
)


def run_figure(
    dataset: str,
    method: str,
    run: int,
    *,
    n_stripes: int,
    n_digits: int,
    limit: int | None,
    n_test: int | None,
    n_learn: int | None,
    n_learn_deskewed: int,
    n_queries: int,
) -> Result:
    """Return what the figure of a data set shows of a method."""
    if dataset == "zebra":
        return run_zebra(method, run, n_stripes)
    if dataset == "circles":
        return run_circles(method)
    if dataset == "four digits":
        return run_digits(n_digits)
    if dataset == "faces":
        return run_faces(limit)
    if dataset == "digits":
        return run_digit_neighbors(limit, n_learn_deskewed, n_test)
    if method not in SEARCH_METHODS:
        sizes = (limit, n_test, n_learn, n_learn_deskewed)
        return run_reduction(dimensions(dataset), method, *sizes)
    return run_search(dimensions(dataset), method, limit, n_test, n_queries)


def _by_dimension(
    datasets: tuple[str, ...], method: str, measure: str, values: tuple[float, ...]
) -> tuple[Published, ...]:
    """Return the paper's numbers of a method, one per number of dimensions."""
    return tuple(
        Published(dataset, method, measure, value)
        for dataset, value in zip(datasets, values, strict=True)
    )


LMNN_FIGURES = Experiment(
    name="lmnn-figures",
    title="LMNN on toy data, on images and in few dimensions",
    paper=LMNN_PAPER,
    place="Figures 2, 4, 5, 7, 8, 10, 12 and 13",
    protocol=(
        "Zebra: 2000 points for training and 2000 for testing in two unit squares with six "
        "stripes each, ten units apart, means over 5 samples. Circles: 52 points on each of two "
        "circles, with radii of 1 and 1.12 and the same angles; clusters by k-means; "
        "leave-one-out error of the nearest neighbour. A projection keeps of each cluster the "
        "direction of its centre only. Images: faces of the first split of lmnn-table1; deskewed "
        "digits. Dimensions: MNIST, raw as in the paper, and deskewed as in Table 1. Searches are "
        "exact 3-NN searches of raw test images on leading principal components, compared in "
        "processor time with a search in all 784 that abandons a row once it is farther away than "
        "the third nearest known; building trees is not counted. Impostors are searched under "
        "metrics learned in the given dimensions, with one tree per class, and compared with a "
        "search that abandons rows. LMNN-S learns a full metric on 350 principal components, of "
        "which the leading directions are kept; LMNN-R learns a rectangular L."
    ),
    run=run_figure,
    measures=(
        Measure("error", "Zebra: 3-NN test error (%) (Figure 2)", decimals=1),
        Measure("left_out", "Circles: leave-one-out error (%) (Figure 7)", decimals=0),
        Measure("gap", "Circles: duality gap (%)", decimals=2),
        Measure(
            "digits_left_out", "Four digits: leave-one-out 3-NN error (%) (Figure 8)", decimals=1
        ),
        Measure("n_changed", "Test images with a better neighbour (Figures 4 and 5)", True, 0),
        Measure("n_spoilt", "Test images with a worse nearest neighbour (Figure 5)", decimals=0),
        Measure("reduced_error", "MNIST: 3-NN test error (%) (Figure 13)", tested="n_test"),
        Measure("speedup", "MNIST: 3-NN search, times faster (Figure 10)", True, 1, judged=False),
        Measure(
            "impostor_speedup",
            "MNIST: search for impostors, times faster (Figure 12)",
            True,
            1,
            judged=False,
        ),
        Measure("compared", "Rows compared by trees, coordinates without trees (%)", decimals=1),
    ),
    full=Size(
        tuple(_METHODS_OF),
        _METHODS,
        runs=5,
        options={
            "n_stripes": 2000,
            "n_digits": 2000,
            "limit": None,
            "n_test": None,
            "n_learn": None,
            "n_learn_deskewed": 10_000,
            "n_queries": 100,
        },
        absent=_ABSENT,
        runs_of={dataset: 1 for dataset in _METHODS_OF if dataset != "zebra"},
    ),
    quick=Size(
        ("zebra", "circles", "four digits", "faces", "digits", "15 dimensions"),
        _METHODS,
        runs=1,
        options={
            "n_stripes": 1000,
            "n_digits": 500,
            "limit": 2000,
            "n_test": 500,
            "n_learn": 1000,
            "n_learn_deskewed": 1000,
            "n_queries": 20,
        },
        absent=_ABSENT,
    ),
    data={
        "four digits": "mnist",
        "faces": "olivetti",
        "digits": "mnist",
        **dict.fromkeys(_REDUCED, "mnist"),
    },
    published=(
        *(
            Published("zebra", method, "error", value)
            for method, value in zip(ZEBRA_METHODS, (6.9, 3.7, 27.6, 3.3, 18.3, 49.0), strict=True)
        ),
        Published("circles", "1 metric", "left_out", 100),
        Published("circles", "2 metrics", "left_out", 21),
        Published("circles", "3 metrics", "left_out", 0),
        *_by_dimension(_REDUCED[1:], "LMNN-R", "reduced_error", PAPER_LMNN_R),
        *_by_dimension(_REDUCED, "abandoning", "speedup", PAPER_ABANDONING),
        *_by_dimension(_REDUCED, "ball tree", "speedup", PAPER_TREE),
        *_by_dimension(_REDUCED, SEARCH_METHODS[-1], "impostor_speedup", PAPER_IMPOSTORS),
    ),
    stand_ins={
        "zebra": "drawn here; the paper gives neither the number of stripes nor the offset.",
        "circles": "drawn here; the paper gives neither the number of points nor the radii.",
    },
    reductions=(
        "In Figure 5 and on deskewed images metrics learn from 10 000 of the 60 000 training "
        "images, in Figure 12 from 5000; all images vote. Searches have 100 queries. Figure 5 is "
        "of the first 2000 test images.",
    ),
    own_methods=("LMNN", "LMNN-R", *CIRCLE_METHODS),
    kept=(
        "axis",
        "clusters",
        "components",
        "classes",
        "means",
        "n_impostors",
        "n_impostors_by_abandoning",
    ),
    figures=(
        Figure("zebra", "Striped modes and the dominant axes of metrics (Figure 2).", draw_zebra),
        Figure(
            "faces",
            "Faces: test images; images of the same person that became one of the 3 nearest; "
            "impostors that ceased to be (Figure 4).",
            partial(
                draw_images,
                dataset="faces",
                titles=("test image", "became a neighbour", "ceased to be a neighbour"),
            ),
        ),
        Figure(
            "digits",
            "Digits: test images whose nearest neighbour is right after learning and wrong before "
            "(Figure 5).",
            partial(
                draw_images,
                dataset="digits",
                titles=("test image", "nearest after learning", "nearest before"),
            ),
        ),
        Figure(
            "circles",
            "Concentric circles: clusters, points at distance 1 from their centres, and the "
            "leave-one-out error (Figure 7).",
            draw_circles,
        ),
        Figure(
            "metrics",
            "One metric per digit: the image of a circle under each L, at the mean of the digit "
            "(Figure 8).",
            draw_digits,
        ),
        Figure(
            "search",
            "Speed of exact searches against the number of dimensions (Figures 10 and 12).",
            draw_search,
        ),
        Figure("reduction", "Errors after reduction of the dimension (Figure 13).", draw_reduction),
    ),
)

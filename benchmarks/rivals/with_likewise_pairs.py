"""Decisions about pairs by likewise: bounds, thresholds, probabilities and entities."""

import numpy as np


def pair_bounds(threads, guarantee="approximate", grouped=True):
    """Bounds at the true rates, and the thresholds that are chosen for these."""
    from likewise.statistics._rate_bounds import rate_bounds
    from likewise.statistics._scored_pairs import ScoredPairs
    from likewise.statistics._threshold_walk import walk_rate

    def bounds(data):
        pairs = data["pairs"]
        units = data["unit"][pairs] if grouped else pairs
        uppers, thresholds = [], []
        for number, (kept, scores) in enumerate(zip(data["numbers"], data["scores"], strict=True)):
            # All other scores are larger than any threshold.
            distances = np.full(len(pairs), np.inf)
            distances[kept] = scores
            scored = ScoredPairs(distances, np.zeros(len(pairs), dtype=bool), units, 0, "items")
            order = scored.different_pairs
            n_errors = np.searchsorted(scores, data["cuts"], side="right")
            found = rate_bounds(order.variances, len(pairs), n_errors, guarantee, number)
            uppers.append(found.upper(0.95))
            chosen = [
                walk_rate(order, scored, rate, 0.95, guarantee, number) for rate in data["rates"]
            ]
            thresholds.append([np.nan if c is None else c.threshold for c in chosen])
        return {"upper": np.array(uppers), "thresholds": np.array(thresholds)}

    return bounds


def promised_thresholds(threads):
    """The threshold of each part of the data; NaN where none is promised."""
    from likewise import GuaranteeError
    from likewise.statistics import choose_threshold

    def choose(data):
        groups = data["units"] if data["grouped"] else None
        thresholds = []
        for part in data["learned"]:
            chosen = part[data["pairs"]].all(axis=1)
            try:
                found = choose_threshold(
                    data["distances"][chosen],
                    data["same"][chosen],
                    f"fmr<={float(data['target'])}",
                    items=data["pairs"][chosen],
                    groups=groups,
                ).threshold
            except GuaranteeError:
                found = np.nan
            thresholds.append(found)
        return {"thresholds": np.array(thresholds)}

    return choose


def thresholds_of_learned_metrics(threads, held_out=True):
    """The metric and threshold of each part; NaN where none is promised.

    Or else the metric of all of its rows, and the threshold of the observed rate of their pairs.
    """
    from sklearn.metrics import pairwise_distances

    from likewise import RCA, GuaranteeError, PairClassifier

    def promised(X, y, target):
        judge = PairClassifier(RCA(), f"fmr<={target}")
        try:
            judge.fit(X, y)
        except GuaranteeError:
            return RCA().fit(X, y).components_, np.nan
        return judge.metric_.components_, judge.threshold_

    def observed(X, y, target):
        metric = RCA().fit(X, y)
        different = np.triu(y[:, None] != y, 1)
        distances = pairwise_distances(metric.transform(X))[different]
        return metric.components_, np.quantile(distances, target, method="lower")

    def choose(data):
        learn = promised if held_out else observed
        found = [
            learn(data["X"][part], data["y"][part], float(data["target"]))
            for part in data["learned"]
        ]
        components, thresholds = zip(*found, strict=True)
        return {"components": np.array(components), "thresholds": np.array(thresholds)}

    return choose


def scored_pairs(threads, bootstrap=False):
    """The whole curve with its band, a threshold and its interval; or bootstrapped rates."""
    from likewise.statistics import choose_threshold, error_rates, verification_curve

    def curve_and_threshold(data):
        pairs = data["distances"], data["same"]
        curve = verification_curve(*pairs, items=data["items"], confidence=0.95)
        chosen = choose_threshold(*pairs, "fmr<=0.001", items=data["items"])
        at = np.searchsorted(curve.thresholds, chosen.threshold, side="right") - 1
        # The band has fewer thresholds than the curve; its limits grow from one to the next.
        following = np.searchsorted(curve.band.thresholds, chosen.threshold)
        return {"fmr": np.array([curve.fmr[at]]), "upper": curve.band.fmr_upper[[following]]}

    def bootstrapped(data):
        found = error_rates(
            data["distances"],
            data["same"],
            float(data["cut"]),
            items=data["items"],
            guarantee="bootstrap",
        )
        return {"fmr": np.array([found.fmr]), "upper": np.array([found.fmr_upper])}

    return bootstrapped if bootstrap else curve_and_threshold


def pair_probabilities(threads, metric=None):
    """The probabilities of the tested pairs of each split."""
    from likewise import PairClassifier

    def predict(data):
        X, y, found = data["X"], data["y"], []
        for learned, pairs in zip(data["learned"], data["tested"], strict=True):
            groups = y[learned] if data["grouped"] else None
            judge = PairClassifier(metric).fit(X[learned], y[learned], groups=groups)
            found.append(judge.predict_proba_pairs(X[pairs[:, 0]], X[pairs[:, 1]])[:, 1])
        return {"probabilities": np.array(found)}

    return predict


def entities(threads):
    """Whether the items of a pair are in one cluster of the decisions about all tested pairs."""
    import likewise as lw

    def decide(X, pairs, same, asked):
        items, index = np.unique(pairs, return_inverse=True)
        judge = lw.PairClassifier(lw.RCA(), target="accuracy")
        judge.fit_pairs(X[items], index.reshape(-1, 2), same)
        decisions = judge.predict_pairs(X[asked[:, 0]], X[asked[:, 1]])
        entity = lw.cluster_pairs(len(X), asked, decisions).labels
        return entity[asked[:, 0]] == entity[asked[:, 1]]

    def decisions(data):
        pairs, found = data["pairs"], np.zeros_like(data["tested"])
        for split, (judged, tested) in enumerate(zip(data["judged"], data["tested"], strict=True)):
            asked, same = pairs[tested], data["same"][judged]
            found[split, tested] = decide(data["X"], pairs[judged], same, asked)
        return {"decided": found}

    return decisions


def learned_distances(threads, adapted=False):
    """The distances of all pairs by what was learned from the judged pairs of each split."""
    import likewise as lw

    def distances(data):
        X, pairs, found = data["X"], data["pairs"], []
        for judged, tested in zip(data["judged"], data["tested"], strict=True):
            known = pairs[judged]
            # The adapter also uses items that are in no judged pair.
            items = np.setdiff1d(np.arange(len(X)), pairs[tested]) if adapted else np.unique(known)
            model = lw.EmbeddingAdapter() if adapted else lw.LDML()
            model.fit_pairs(X[items], np.searchsorted(items, known), data["same"][judged])
            found.append(model.pair_distance(X[pairs[:, 0]], X[pairs[:, 1]]))
        return {"distances": np.array(found)}

    return distances

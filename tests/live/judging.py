"""Items, events and simulated annotators for the tests of the live part."""

import json
import uuid

import numpy as np

from likewise.live import Event, Items

PROJECT = "project of the tests"


def toy_items(n_items=60, n_features=5, n_classes=6, seed=0):
    """Items in clusters, and the clusters."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_classes
    X = 2 * rng.normal(size=(n_classes, n_features))[y] + rng.normal(size=(n_items, n_features))
    return Items(X), y


def write_texts(path, items, text_of):
    """Write items with texts and vectors as JSON lines; return the path."""
    rows = [
        {"id": f"t{row}", "text": text_of(row), "v": vector.tolist()}
        for row, vector in enumerate(items.vectors)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def judgement(number, left="0", right="1", answer="same", annotator="ann", source="own", **more):
    return Event(
        number,
        "judgement",
        more.get("id") or str(uuid.UUID(int=number)),
        left,
        right,
        answer,
        annotator,
        source,
        more.get("time", 1.5 * number),
    )


def undo(number, of, annotator="ann"):
    return Event(number, "undo", of.id, "", "", "", annotator, of.source, 1.5 * number)


def random_events(n_events, n_items=12, seed=0, share_undone=0.2):
    """Judgements by three annotators of pairs of few items, some undone, as engines do."""
    rng = np.random.default_rng(seed)
    events, in_force, sources = [], {}, {}
    while len(events) < n_events:
        number = len(events) + 1
        if in_force and rng.random() < share_undone:
            key = list(in_force)[rng.integers(len(in_force))]
            revoked = in_force.pop(key)
            events.append(undo(number, revoked, revoked.annotator))
            continue
        left, right = map(str, rng.choice(n_items, 2, replace=False))
        annotator = ["ann", "bob", "eve"][rng.integers(3)]
        pair = frozenset((left, right))
        if (pair, annotator) in in_force:
            continue
        kinds = ["audit", "withheld", "chosen"]
        source = sources.setdefault(pair, kinds[rng.choice(3, p=[0.2, 0.1, 0.7])])
        answer = ["same", "different", "unsure"][rng.choice(3, p=[0.4, 0.5, 0.1])]
        event = judgement(number, left, right, answer, annotator, source)
        in_force[pair, annotator] = event
        events.append(event)
    return events


def same_bits(first, second):
    """Whether two online learners have the same state, bit for bit."""
    one, other = first._state, second._state
    return (
        one.matrix.tobytes() == other.matrix.tobytes()
        and one.b == other.b
        and one.scale == other.scale
        and one.n_events == other.n_events
        and one.n_updates == other.n_updates
        and one.cumulative_loss == other.cumulative_loss
        and one.since_projection == other.since_projection
    )

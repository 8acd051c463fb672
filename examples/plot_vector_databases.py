"""
The learned metric in vector databases
======================================

A metric is learned from some labelled vectors and used where all vectors are: in Qdrant, sqlite-vec
and usearch. Each recipe runs if its package is installed, and its answers are compared with brute
force. :doc:`/guide/export` has the targets that `likewise.export` writes itself: numpy, ONNX,
faiss, PostgreSQL and sentence-transformers.

The vectors are pixels of handwritten digits here. The last hundred are the queries, and the metric
is learned from half of the others.
"""

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import likewise as lw
from likewise.export import AffineMap, QueryOnly, plans, shortlist_recall

X, y = load_digits(return_X_y=True)
X = X.astype(np.float32)
vectors, queries = X[:-100], X[-100:]
learned = lw.FDA().fit(vectors[::2], y[:-100:2])

# %%
# Most encoders return unit vectors. A map of them normalises its images again:

model = AffineMap(learned.components_, vectors.mean(axis=0), normalize=True)
images, query_images = model.transform(vectors), model.transform(queries)
exact = np.linalg.norm(query_images[:, None] - images, axis=2)
nearest = exact.argsort(axis=1)[:, :5]
print(plans(model, len(vectors)))


def compare(name, found, distances, expected):
    """Print whether a database returns the nearest vectors, and what it calls their distance."""
    rows = np.arange(len(queries))[:, None]
    tied = np.abs(exact[rows, found] - exact[rows, nearest]).max()
    wrong = np.abs(np.asarray(distances) - expected).max()
    print(f"{name}: order right up to {tied:.0e}, distances up to {wrong:.0e}")
    assert tied < 1e-3
    assert wrong < 1e-3


# %%
# Qdrant
# ------
#
# Local mode needs no server. Re-indexed vectors are searched by the Euclidean distance, which
# Qdrant does not square. For the query-only plan vectors have one number more, and are searched by
# their inner product.

best = np.take_along_axis(exact, nearest, axis=1)
if find_spec("qdrant_client"):
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    plan = QueryOnly(model)
    for name, distance, rows, searched in (
        ("re-index", models.Distance.EUCLID, images, query_images),
        ("query-only", models.Distance.DOT, plan.stored(vectors), plan.query(queries)),
    ):
        size = models.VectorParams(size=rows.shape[1], distance=distance)
        client.create_collection(name, vectors_config=size)
        client.upload_collection(name, vectors=rows, ids=range(len(rows)))
        points = [client.query_points(name, query=q.tolist(), limit=5).points for q in searched]
        found = np.array([[point.id for point in hits] for hits in points])
        scores = np.array([[point.score for point in hits] for hits in points])
        distances = scores if name == "re-index" else plan.distance(queries, scores)
        compare(f"Qdrant, {name}", found, distances, best)
else:
    print("qdrant-client is not installed")

# %%
# sqlite-vec
# ----------
#
# Its L2 distance is not squared. Where Python's `sqlite3` cannot load extensions, `apsw` can.

if find_spec("sqlite_vec") and find_spec("apsw"):
    import apsw
    import sqlite_vec

    database = apsw.Connection(":memory:")
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    database.execute(f"CREATE VIRTUAL TABLE items USING vec0(v float[{images.shape[1]}])")
    with database:  # one transaction: all vectors or none
        database.executemany(
            "INSERT INTO items (rowid, v) VALUES (?, ?)",
            ((i, row.tobytes()) for i, row in enumerate(images)),
        )
    select = "SELECT rowid, distance FROM items WHERE v MATCH ? AND k = 5 ORDER BY distance"
    hits = np.array([list(database.execute(select, (q.tobytes(),))) for q in query_images])
    compare("sqlite-vec", hits[:, :, 0].astype(int), hits[:, :, 1], best)
else:
    print("sqlite-vec and apsw are not installed")

# %%
# usearch
# -------
#
# `l2sq` is the squared distance. The index is approximate unless the search is asked to be exact.

if find_spec("usearch"):
    from usearch.index import Index

    index = Index(ndim=images.shape[1], metric="l2sq", dtype="f32")
    index.add(np.arange(len(images)), images)
    hits = index.search(query_images, 5, exact=True)
    compare("usearch", hits.keys.astype(int), np.sqrt(hits.distances), best)
else:
    print("usearch is not installed")

# %%
# Shortlist and rerank
# --------------------
#
# Where nothing may be stored, the index is searched with the vectors as they are, and what it
# returns is ordered again. How long must the shortlist be? That is measured:

recall = shortlist_recall(model, queries, vectors, k=5, sizes=(5, 10, 20, 50, 100, 200, 500))
print(recall)

fig, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
values = [score.value for score in recall.scores]
low, high = np.transpose([score.interval for score in recall.scores])
ax.fill_between(recall.sizes, low, high, alpha=0.2, linewidth=0)
ax.plot(recall.sizes, values, marker="o")
ax.set(xscale="log", xlabel="length of the shortlist", ylabel="recall of the 5 nearest")
plt.show()

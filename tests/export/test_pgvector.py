"""The map in PostgreSQL with pgvector: both exact plans, and nothing half-written."""

import numpy as np
import pytest
from exported import (
    MAPS,
    QUERY_SIDE,
    TIES,
    affine_map,
    assert_order,
    learned,
    query_side_sqdist,
    sqdist,
    vectors,
)
from postgres import create_table, literal, objects, psycopg, running, search

from likewise.base import AffineMap
from likewise.export import QueryOnly, install_pgvector, pgvector_sql

pytestmark = pytest.mark.xdist_group("postgres")  # one server for all of them
MODELS = {**MAPS, "learner": learned()}
PLANS = ["query-only", "re-index"]


@pytest.fixture(scope="module")
def database():
    with running() as uri:
        yield uri


@pytest.fixture
def connection(database):
    with psycopg.connect(database, autocommit=True) as made:
        made.execute('DROP SCHEMA IF EXISTS public, "my shop" CASCADE; CREATE SCHEMA public')
        yield made


def check_search(connection, model, X, queries, k, name="likewise_search"):
    check_found(connection, brute_force(model, queries, X), queries, k, name)


def check_found(connection, expected, queries, k, name="likewise_search"):
    results = [search(connection, query, k, name) for query in queries]
    slack = TIES * expected.max()
    assert_order(np.array([found for found, _ in results]), expected, k, slack)
    distances = np.array([distances for _, distances in results])
    best = np.sort(expected)[:, :k]
    np.testing.assert_allclose(distances**2, best, atol=slack)  # they are not squared


def brute_force(model, queries, X):
    if len(X) < 1000:
        return sqdist(model, queries, X)
    Z, points = (model.transform(rows.astype(np.float64)) for rows in (queries, X))
    return np.array([np.square(points - z).sum(axis=1) for z in Z])


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", MODELS)
def test_search_has_the_order_of_brute_force(name, plan, connection, database):
    X, queries = vectors(200), vectors(3, seed=2)
    create_table(connection, X, kind="vector(8)")
    install_pgvector(MODELS[name], database, table="items", plan=plan)
    check_search(connection, MODELS[name], X, queries, 20)
    if plan == "re-index":
        stored = connection.execute(
            "SELECT likewise_vector::real[] FROM items ORDER BY id"
        ).fetchall()
        found = np.array([row[0] for row in stored])
        expected = MODELS[name].transform(X.astype(np.float64))
        error = np.linalg.norm(found - expected, axis=1)
        assert (error <= 1e-5 * np.linalg.norm(expected, axis=1).max()).all()


@pytest.mark.parametrize("name", MODELS)
def test_an_inner_product_index_has_the_order_of_brute_force(name, connection, database):
    X, queries = vectors(200), vectors(3, seed=2)
    create_table(connection, X[:150], kind="vector(8)")
    install_pgvector(MODELS[name], database, table="items", indexable=True)
    for number in range(150, 200):
        connection.execute("INSERT INTO items VALUES (%s, %s)", (number, literal(X[number])))
    check_search(connection, MODELS[name], X, queries, 20)
    stored = connection.execute("SELECT likewise_vector::real[] FROM items ORDER BY id").fetchall()
    expected = QueryOnly(MODELS[name]).stored(X)
    found = np.array([row[0] for row in stored])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    connection.execute("CREATE INDEX ON items USING hnsw (likewise_vector vector_ip_ops)")


def test_queries_only_store_nothing(connection, database):
    X, queries = vectors(200), vectors(3, seed=2)
    create_table(connection, X, kind="vector(8)")
    connection.execute("CREATE INDEX ON items USING hnsw (embedding vector_cosine_ops)")
    columns = [row for row in objects(connection) if row[0] == "column" and "items" in row[1]]
    install_pgvector(QUERY_SIDE, database, table="items")
    found = objects(connection)
    assert [row for row in found if row[0] == "column" and "items" in row[1]] == columns
    assert not [row for row in found if row[0] == "trigger"]
    connection.execute("SET enable_indexscan = off")  # exact, not approximate
    check_found(connection, query_side_sqdist(queries, X), queries, 20)
    with pytest.raises(ValueError, match="plan is 're-index', but the model maps queries only"):
        pgvector_sql(QUERY_SIDE, table="items", plan="re-index")
    with pytest.raises(ValueError, match="plan is 're-index', but indexable is True"):
        pgvector_sql(MAPS["plain"], table="items", plan="re-index", indexable=True)


@pytest.mark.parametrize(
    ("name", "indexable"),
    [
        ("plain", False),
        ("normalised", True),
        pytest.param("plain", True, marks=pytest.mark.slow),
        pytest.param("normalised", False, marks=pytest.mark.slow),
    ],
)
def test_query_only_of_a_hundred_thousand_vectors(name, indexable, connection, database):
    X = vectors(100_000)
    create_table(connection, X)
    install_pgvector(MAPS[name], database, table="items", indexable=indexable)
    check_search(connection, MAPS[name], X, vectors(4, seed=2), 100)


@pytest.mark.parametrize("plan", PLANS)
def test_later_rows_and_a_newer_model(plan, connection, database):
    X, queries = vectors(60), vectors(3, seed=2)
    create_table(connection, X[:20])
    install_pgvector(MAPS["plain"], database, table="items", plan="re-index")
    install_pgvector(MAPS["normalised"], database, table="items", plan=plan)
    for number in range(20, 60):
        connection.execute("INSERT INTO items VALUES (%s, %s)", (number, literal(X[number])))
    X[5] = 9
    connection.execute("UPDATE items SET embedding = %s WHERE id = 5", (literal(X[5]),))
    connection.execute("INSERT INTO items VALUES (1000, NULL)")
    check_search(connection, MAPS["normalised"], X, queries, 30)


@pytest.mark.parametrize("plan", PLANS)
def test_half_precision_and_odd_names(plan, connection, database):
    X = vectors(50).astype(np.float16)
    connection.execute('CREATE SCHEMA "my shop"')
    create_table(connection, X, kind="halfvec(8)", table='"my shop"."it\'s"')
    connection.execute("""ALTER TABLE "my shop"."it's" RENAME COLUMN embedding TO "a ""b" """)
    options = {"table": "my shop.it's", "column": 'a "b', "name": "x y"}
    install_pgvector(MAPS["plain"], database, plan=plan, **options)
    check_search(connection, MAPS["plain"], X, vectors(2, seed=2), 10, '"x y_search"')


def no_extension(connection):
    connection.execute("DROP EXTENSION IF EXISTS vector CASCADE")


def no_table(connection):
    connection.execute("CREATE EXTENSION vector")


def no_rows(connection):
    create_table(connection, vectors(0))


def other_dimension(connection):
    create_table(connection, vectors(5, n_features=7))


def no_column(connection):
    create_table(connection, vectors(5))
    connection.execute("ALTER TABLE items RENAME COLUMN embedding TO other")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (no_extension, "the database has no extension vector: run CREATE EXTENSION vector"),
        (no_table, 'there is no table "items"'),
        (no_rows, 'table "items" has no vectors'),
        (no_column, 'column "embedding" does not exist'),
        (other_dimension, 'column "embedding" has vectors of 7 numbers, but the model maps .* 8'),
    ],
)
@pytest.mark.parametrize("plan", PLANS)
def test_an_error_is_one_sentence_and_changes_nothing(plan, prepare, message, connection, database):
    prepare(connection)
    before = objects(connection)
    with pytest.raises(ValueError, match=f"PostgreSQL said: {message}.*; nothing was changed.$"):
        install_pgvector(MAPS["normalised"], database, table="items", plan=plan)
    assert objects(connection) == before


@pytest.mark.parametrize("plan", PLANS)
def test_a_vector_without_direction(plan, connection, database):
    create_table(connection, vectors(5))
    connection.execute("INSERT INTO items VALUES (9, '[0,0,0,0,0,0,0,0]')")
    affine = AffineMap(MAPS["plain"].W, np.zeros(8), normalize=True)
    before = objects(connection)
    with pytest.raises(ValueError, match="a vector is mapped to zero and has no direction"):
        install_pgvector(affine, database, table="items", plan=plan)
    assert objects(connection) == before
    connection.execute("DELETE FROM items WHERE id = 9")
    install_pgvector(affine, database, table="items", plan=plan)
    with pytest.raises(psycopg.errors.RaiseException, match="is mapped to zero"):
        connection.execute("INSERT INTO items VALUES (9, '[0,0,0,0,0,0,0,0]')")


@pytest.mark.parametrize("version", ["0.6.2", "0.6.0-dev", "0.10.1", "0.8.0-dev", "1.0"])
def test_an_old_extension(version, connection, database):
    create_table(connection, vectors(5))
    change = "UPDATE pg_extension SET extversion = %s WHERE extname = 'vector'"
    (true,) = connection.execute(
        "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    before = objects(connection)
    connection.execute(change, (version,))
    try:
        if version.startswith("0.6"):
            with pytest.raises(ValueError, match=f"has version {version}, but at least 0.7 is"):
                install_pgvector(MAPS["plain"], database, table="items")
            assert objects(connection) == before
        else:
            install_pgvector(MAPS["plain"], database, table="items")
    finally:
        connection.execute(change, (true,))


def test_a_locked_table(connection, database):
    create_table(connection, vectors(5))
    before = objects(connection)
    with psycopg.connect(database) as other:
        other.execute("LOCK TABLE items IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(ValueError, match="table 'items' is locked by another session; nothing"):
            install_pgvector(MAPS["plain"], database, table="items", lock_timeout=1)
    assert objects(connection) == before


def test_a_server_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"^PostgreSQL said: .*; nothing was changed\.$"):
        install_pgvector(MAPS["plain"], f"postgresql:///x?host={tmp_path}", table="items")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plan": "shortlist"}, "plan='shortlist' is not allowed"),
        ({"lock_timeout": -1}, "lock_timeout=-1 is not allowed"),
        ({"table": ""}, "table is '', but a name without . is needed"),
        ({"column": "a$$b"}, "column is .* a name without"),
        ({"name": "x" * 60}, "at most 52 bytes are left for it"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        pgvector_sql(MAPS["plain"], **{"table": "items"} | options)


def test_too_many_dimensions():
    wide = affine_map(normalize=False, n_components=1, n_features=16_001)
    with pytest.raises(ValueError, match=r"maps 16001 numbers to 1, but .* at most 16000"):
        pgvector_sql(wide, table="items")

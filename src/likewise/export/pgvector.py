"""The map in PostgreSQL with pgvector: SQL for both exact plans, and its installation."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.text import printable, quote
from likewise._runtime.validation import at_least, boolean, check_parameters, one_of
from likewise.base import AffineMap
from likewise.export._extras import require

LEAST_VERSION = (0, 7)  # of pgvector: the first with l2_normalize and halfvec
MAX_DIMENSIONS = 16_000  # of its type vector
_MAX_NAME = 63 - len("_components")


def pgvector_sql(
    model: Any,
    *,
    table: str,
    column: str = "embedding",
    id_column: str = "id",
    plan: str = "query-only",
    name: str = "likewise",
    indexable: bool = False,
    lock_timeout: int = 10,
) -> str:
    """Return SQL that installs a model in PostgreSQL, in one transaction.

    Afterwards ``SELECT * FROM likewise_search('[…]', 10)`` returns the ids of the ten vectors that
    are nearest to a vector as your encoder made it, and their learned distances, *not* squared. A
    trigger maps rows that are inserted or updated later. Running the SQL again, for a newer model,
    replaces what it made before.

    Parameters
    ----------
    model : fitted linear metric or AffineMap
    table : str
        The table of the vectors, with its schema if that is not in the search path: ``shop.items``.
    column : str, default="embedding"
        The column with the vectors, of type vector or halfvec.
    id_column : str, default="id"
        The column that tells rows apart.
    plan : {"query-only", "re-index"}, default="query-only"
        "query-only" adds one number per row. "re-index" adds a column of mapped vectors,
        ``likewise_vector``; make an index on it with vector_l2_ops. For a model that maps queries
        only (``side="query"``), "query-only" adds nothing and uses an index that the column has
        with vector_cosine_ops.
    name : str, default="likewise"
        What the names of all new objects begin with.
    indexable : bool, default=False
        For "query-only": store what an index of inner products takes, in a column
        ``likewise_vector`` of one more number than the vectors have: (x/s, 1/s) with
        s = ‖W(x - mean)‖ if the model normalises, and else (x, ‖W(x - mean)‖²). Make an index on
        it with vector_ip_ops.
    lock_timeout : int, default=10
        Seconds to wait for a table that somebody else has locked.

    Returns
    -------
    str

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.export import pgvector_sql
    >>> sql = pgvector_sql(lw.Euclidean().fit([[0.0, 1.0]]), table="items")
    >>> sql.splitlines()[0]
    'BEGIN;'
    """
    affine = AffineMap.from_model(model)
    check_parameters(
        "pgvector_sql",
        {"plan": plan, "indexable": indexable, "lock_timeout": lock_timeout},
        {
            "plan": one_of("query-only", "re-index"),
            "indexable": boolean(),
            "lock_timeout": at_least(0),
        },
    )
    if plan == "re-index" and (indexable or affine.side == "query"):
        why = "indexable is True" if indexable else "the model maps queries only"
        raise ValueError(f"plan is 're-index', but {why}: only 'query-only' is allowed then.")
    if max(affine.W.shape) > MAX_DIMENSIONS:
        raise ValueError(
            f"model maps {affine.n_features_in} numbers to {affine.n_components}, but vectors of "
            f"pgvector have at most {MAX_DIMENSIONS}."
        )
    names = _Names(table, column, id_column, name)
    if affine.side == "query":
        made = _queries_only(names)
    elif plan == "re-index":
        made = _re_index(affine, names)
    else:
        made = (_inner_product if indexable else _query_only)(affine, names)
    steps = [
        "BEGIN;",
        f"SET LOCAL lock_timeout = '{lock_timeout}s';",
        _checks(affine, names),
        _clean_up(names),
        _matrices(affine, names),
        made,
        "" if affine.side == "query" else _trigger(names),
        "COMMIT;",
    ]
    return "\n".join(steps) + "\n"


def install_pgvector(model: Any, database: str, *, table: str, **options: Any) -> None:
    """Run the SQL of `pgvector_sql` in a database: all of it or, after an error, nothing.

    Parameters
    ----------
    model : fitted linear metric or AffineMap
    database : str
        A connection string of PostgreSQL, such as ``postgresql://user@host/name``.
    table : str
        The table of the vectors.
    **options
        Further parameters of `pgvector_sql`.
    """
    sql = pgvector_sql(model, table=table, **options)
    psycopg = require("psycopg", "pgvector")
    try:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(sql)
    except psycopg.errors.LockNotAvailable:
        raise ValueError(
            f"table {quote(table)} is locked by another session; nothing was changed."
        ) from None
    except psycopg.Error as error:
        said = error.diag.message_primary or str(error).strip().splitlines()[0]
        raise ValueError(
            f"PostgreSQL said: {printable(said, 300).rstrip('.')}; nothing was changed."
        ) from None


class _Names:
    """Quoted names of all objects."""

    def __init__(self, table: str, column: str, id_column: str, name: str) -> None:
        given = {"table": table, "column": column, "id_column": id_column, "name": name}
        for argument, value in given.items():
            if not isinstance(value, str) or not value or "\0" in value or "$" in value:
                raise ValueError(f"{argument} is {quote(value)}, but a name without $ is needed.")
        if len(name.encode()) > _MAX_NAME:
            raise ValueError(
                f"name is {quote(name)}, but at most {_MAX_NAME} bytes are left for it in the "
                "names of PostgreSQL."
            )
        self.table = ".".join(_identifier(part) for part in table.split("."))
        self.column = _identifier(column)
        self.id = _identifier(id_column)
        self.components = _identifier(f"{name}_components")
        self.columns_of_components = _identifier(f"{name}_transposed")
        self.vector = _identifier(f"{name}_vector")
        self.number = _identifier(f"{name}_number")
        self.map = _identifier(f"{name}_map")
        self.stored = _identifier(f"{name}_stored")
        self.search = _identifier(f"{name}_search")
        self.update = _identifier(f"{name}_update")


def _identifier(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _text(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def _checks(affine: AffineMap, names: _Names) -> str:
    least = ".".join(map(str, LEAST_VERSION))
    major, minor = LEAST_VERSION
    return f"""
DO $likewise$
DECLARE
  installed text := (SELECT extversion FROM pg_extension WHERE extname = 'vector');
  found integer;
BEGIN
  IF installed IS NULL THEN
    RAISE EXCEPTION 'the database has no extension vector: run CREATE EXTENSION vector';
  END IF;
  -- Releases may end in letters, such as 0.8.0-dev.
  IF regexp_match(installed, '^([0-9]+)[.]([0-9]+)')::integer[] < ARRAY[{major}, {minor}] THEN
    RAISE EXCEPTION 'the extension vector has version %, but at least {least} is needed', installed;
  END IF;
  IF to_regclass({_text(names.table)}) IS NULL THEN
    RAISE EXCEPTION 'there is no table %', {_text(names.table)};
  END IF;
  LOCK TABLE {names.table} IN SHARE ROW EXCLUSIVE MODE;
  IF NOT EXISTS (SELECT FROM {names.table} WHERE {names.column} IS NOT NULL) THEN
    RAISE EXCEPTION 'table % has no vectors', {_text(names.table)};
  END IF;
  SELECT vector_dims({names.column}::vector) INTO found FROM {names.table}
    WHERE vector_dims({names.column}::vector) <> {affine.n_features_in} LIMIT 1;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'column % has vectors of % numbers, but the model maps vectors of %',
      {_text(names.column)}, found, {affine.n_features_in};
  END IF;
END $likewise$;"""


def _clean_up(names: _Names) -> str:
    return f"""
DROP TRIGGER IF EXISTS {names.update} ON {names.table};
DROP FUNCTION IF EXISTS {names.search}, {names.update}, {names.stored}, {names.map};
DROP TABLE IF EXISTS {names.components}, {names.columns_of_components};
ALTER TABLE {names.table} DROP COLUMN IF EXISTS {names.vector};
ALTER TABLE {names.table} DROP COLUMN IF EXISTS {names.number};"""


def _matrices(affine: AffineMap, names: _Names) -> str:
    """W by rows with the bias, W by columns, and the map; the dimension is part of the types."""
    n, d = affine.W.shape
    rows = ",\n".join(
        f"({i}, '{_vector(w)}', {b!r})"
        for i, (w, b) in enumerate(zip(affine.W, affine.bias.tolist(), strict=True))
    )
    columns = ",\n".join(f"({j}, '{_vector(w)}')" for j, w in enumerate(affine.W.T))
    image = f"array_agg((b - (x <#> w))::real ORDER BY i)::vector({n})"
    image = f"l2_normalize({image})" if affine.normalize else image
    return f"""
CREATE TABLE {names.components} (i integer PRIMARY KEY, w vector({d}), b double precision);
INSERT INTO {names.components} VALUES
{rows};
CREATE TABLE {names.columns_of_components} (j integer PRIMARY KEY, w vector({n}));
INSERT INTO {names.columns_of_components} VALUES
{columns};
CREATE FUNCTION {names.map}(x vector) RETURNS vector LANGUAGE sql STABLE STRICT PARALLEL SAFE AS
  $$ SELECT {image} FROM {names.components} $$;"""


def _vector(values: Array) -> str:
    return "[" + ",".join(f"{value:.9g}" for value in values.astype(np.float32)) + "]"


def _squared_length(names: _Names) -> str:
    return f"(SELECT sum((b - (x <#> w)) ^ 2) FROM {names.components})"


def _no_direction(names: _Names) -> str:
    """Refuse vectors whose image has no direction."""
    return f"""IF {_squared_length(names)} = 0 THEN
    RAISE EXCEPTION 'a vector is mapped to zero and has no direction, but the model normalises';
  END IF;"""


def _stored(affine: AffineMap, names: _Names, column: str, kind: str, value: str) -> str:
    """Return SQL for a new column, computed from the vector by the function `stored`."""
    check = _no_direction(names) if affine.normalize else ""
    return f"""
CREATE FUNCTION {names.stored}(x vector) RETURNS {kind} LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
  {check}
  RETURN {value};
END $$;
ALTER TABLE {names.table} ADD COLUMN {column} {kind};
UPDATE {names.table} SET {column} = {names.stored}({names.column}::vector);
CREATE FUNCTION {names.update}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.{column} := {names.stored}(NEW.{names.column}::vector);
  RETURN NEW;
END $$;"""


def _trigger(names: _Names) -> str:
    return f"""
CREATE TRIGGER {names.update} BEFORE INSERT OR UPDATE OF {names.column} ON {names.table}
  FOR EACH ROW EXECUTE FUNCTION {names.update}();"""


def _search_head(names: _Names) -> str:
    return f"""
CREATE FUNCTION {names.search}(query vector, k integer)
  RETURNS TABLE (id {names.table}.{names.id}%TYPE, distance double precision)
  LANGUAGE plpgsql STABLE STRICT AS $$"""


def _re_index(affine: AffineMap, names: _Names) -> str:
    stored = _stored(
        affine, names, names.vector, f"vector({affine.n_components})", f"{names.map}(x)"
    )
    return f"""{stored}
{_search_head(names)}
#variable_conflict use_column
DECLARE
  image vector := {names.map}(query);
BEGIN
  RETURN QUERY SELECT t.{names.id}, t.{names.vector} <-> image FROM {names.table} AS t
    WHERE t.{names.vector} IS NOT NULL ORDER BY t.{names.vector} <-> image LIMIT k;
END $$;"""


def _queries_only(names: _Names) -> str:
    """The vectors stay, and so does an index on them with vector_cosine_ops."""
    return f"""
{_search_head(names)}
#variable_conflict use_column
DECLARE
  image {names.table}.{names.column}%TYPE := {names.map}(query);
BEGIN
  RETURN QUERY SELECT t.{names.id}, sqrt(greatest(2 * (t.{names.column} <=> image), 0))
    FROM {names.table} AS t
    WHERE t.{names.column} IS NOT NULL ORDER BY t.{names.column} <=> image LIMIT k;
END $$;"""


def _inner_product(affine: AffineMap, names: _Names) -> str:
    """(x/s, 1/s), or (x, length²), whose inner product with the query has the learned order."""
    length = _squared_length(names)
    if affine.normalize:
        number = f"1 / sqrt({length})"
        scales = f"array_fill(({number})::real, ARRAY[{affine.n_features_in}])::vector"
        rest = f"(x * {scales})::real[]"
        last, square = "shift", "2 + 2 * found.score"
    else:
        number, rest = length, "x::real[]"
        last, square = "-0.5", "constant + 2 * found.score"
    kind = f"vector({affine.n_features_in + 1})"
    value = f"array_append({rest}, ({number})::real)::{kind}"
    stored = _stored(affine, names, names.vector, kind, value)
    return f"""{stored}
{_search_head(names)}
#variable_conflict use_column
DECLARE
{_declared(names)}
  asked vector := array_append(a::real[], ({last})::real)::{kind};
BEGIN
  RETURN QUERY SELECT found.id, sqrt(greatest({square}, 0)) FROM (
    SELECT t.{names.id} AS id, t.{names.vector} <#> asked AS score FROM {names.table} AS t
    WHERE t.{names.vector} IS NOT NULL ORDER BY t.{names.vector} <#> asked LIMIT k
  ) AS found ORDER BY found.score;
END $$;"""


def _declared(names: _Names) -> str:
    """The image z of a query, a = Wᵀz, and numbers of it."""
    return f"""  z vector := {names.map}(query);
  a vector := (SELECT array_agg((-(z <#> w))::real ORDER BY j)::vector
               FROM {names.columns_of_components});
  shift double precision := -(z <#> (SELECT array_agg(b::real ORDER BY i)::vector
                                     FROM {names.components}));
  constant double precision := -(z <#> z) - 2 * shift;"""


def _query_only(affine: AffineMap, names: _Names) -> str:
    length = _squared_length(names)
    if affine.normalize:
        value = f"1 / sqrt({length})"
        # minus the cosine, which is -(a·x + z·b) / s
        score = f"((t.{names.column}::vector <#> a) - shift) * t.{names.number}"
        square = "2 + 2 * found.score"
    else:
        value = length
        score = f"t.{names.number} + 2 * (t.{names.column}::vector <#> a)"
        square = "constant + found.score"
    stored = _stored(affine, names, names.number, "double precision", value)
    return f"""{stored}
{_search_head(names)}
#variable_conflict use_column
DECLARE
{_declared(names)}
BEGIN
  RETURN QUERY SELECT found.id, sqrt(greatest({square}, 0)) FROM (
    SELECT t.{names.id} AS id, {score} AS score FROM {names.table} AS t
    WHERE t.{names.number} IS NOT NULL ORDER BY score LIMIT k
  ) AS found ORDER BY found.score;
END $$;"""

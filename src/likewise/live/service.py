"""The HTTP service: one engine, several annotators."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from importlib.resources import files
from typing import Annotated, Any
from uuid import UUID

import numpy as np
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPBearer

from likewise._runtime.version import __version__
from likewise.live import schemas
from likewise.live._images import content_type
from likewise.live._request_errors import describe_request_error
from likewise.live.differences import shown_pair
from likewise.live.engine import Engine
from likewise.live.events import Event
from likewise.live.exports import judgements_csv, model_file, pairs_csv, report_file
from likewise.live.log import LogError, StorageFullError
from likewise.live.scan import scan_rows
from likewise.live.security import Guard, Tokens, cookie_name
from likewise.live.submission import RefusedError

__all__ = ["create_app"]

_STATIC = {
    "app.js": "text/javascript",
    "pair.js": "text/javascript",
    "curve.js": "text/javascript",
    "style.css": "text/css",
}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Problem, "description": text}
    for status, text in {
        400: "Not JSON.",
        401: "No token, or a wrong one.",
        403: "Not allowed, or the pair was not shown to the annotator.",
        404: "No such item or judgement.",
        409: "It contradicts an earlier judgement.",
        411: "A Content-Length is needed.",
        413: "The body is too large.",
        421: "The host is not served here.",
        422: "A field is missing, not known or not allowed.",
        503: "The log cannot be written at present; try again with the same id.",
        507: "The disk is full; try again later with the same id. Nothing is lost.",
    }.items()
}
_bearer = HTTPBearer(auto_error=False, description="The token of an annotator.")


# Both are coroutines: FastAPI would call functions in a thread, which costs more than they do.
async def authenticate(request: Request, _: Annotated[Any, Depends(_bearer)]) -> str:
    """Return the annotator of a request: by header, or by cookie."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        token = request.cookies.get(cookie_name(request.headers["host"]), "")
    annotator = request.app.state.tokens.annotator_of(token.strip())
    if annotator is None:
        raise HTTPException(
            401, "a token is needed (Authorization: Bearer …).", {"WWW-Authenticate": "Bearer"}
        )
    return str(annotator)


async def engine_of(request: Request) -> Engine:
    """Return the engine that the service is for."""
    engine: Engine = request.app.state.engine
    return engine


Annotator = Annotated[str, Depends(authenticate)]
TheEngine = Annotated[Engine, Depends(engine_of)]
Tab = Annotated[str | None, Query(max_length=64, description="Where pairs are shown.")]


def create_app(
    engine: Engine, tokens: dict[str, str], *, hosts: set[str], docs: bool = False
) -> Any:
    """Return the service as an ASGI application.

    Parameters
    ----------
    engine : Engine
        Started.
    tokens : dict
        From the names of annotators to their tokens.
    hosts : set of str
        Values of the header Host that are served, such as "localhost:8765", besides the address
        that a request has come to.
    docs : bool, default=False
        Whether ``/openapi.json`` is served. There is no page for it: the usual one loads scripts
        from another site.

    Returns
    -------
    ASGI application
    """
    app = FastAPI(
        title="likewise serve",
        version=__version__,
        description="Judgements on pairs, and the metric learned from them.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json" if docs else None,
        responses=_PROBLEMS,
    )
    app.state.engine, app.state.tokens = engine, Tokens(tokens)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(LogError, _not_written)
    _add_judging(app)
    _add_metric(app)
    _add_page(app)
    return Guard(app, hosts)


async def _not_valid(request: Request, error: Exception) -> JSONResponse:
    # The usual handler repeats the input, and fails where JSON has no way to write it.
    assert isinstance(error, RequestValidationError)
    given = request.headers.get("content-type", "")
    return JSONResponse({"detail": describe_request_error(error.errors(), given)}, 422)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RefusedError)
    return JSONResponse({"detail": str(error)}, error.status)


async def _not_written(request: Request, error: Exception) -> JSONResponse:
    status = 507 if isinstance(error, StorageFullError) else 503
    return JSONResponse({"detail": "The judgement could not be stored; send it again."}, status)


def _public(event: Event) -> dict[str, Any]:
    """Return an event without what would tell the annotator whether it is audited."""
    return {name: getattr(event, name) for name in schemas.JudgementOut.model_fields}


def _row(engine: Engine, item: str) -> int:
    try:
        return engine.items.row_of(item)
    except KeyError:
        raise HTTPException(404, "there is no such item.") from None


def _add_judging(app: FastAPI) -> None:
    @app.post("/judgements", status_code=201, response_model=schemas.JudgementOut)
    async def judge(
        given: schemas.JudgementIn, annotator: Annotator, engine: TheEngine
    ) -> Response:
        """Judge a pair: 201 once it is on disk, 200 if this id was there before."""
        future = engine.judge(given.left, given.right, given.answer, annotator, str(given.id))
        outcome = await asyncio.wrap_future(future)
        return JSONResponse(_public(outcome.event), 201 if outcome.created else 200)

    @app.delete("/judgements/{judgement_id}", response_model=schemas.UndoOut)
    async def undo(
        judgement_id: UUID, annotator: Annotator, engine: TheEngine, tab: Tab = None
    ) -> Response:
        """Undo a judgement of one's own, however long ago; its pair is the next one of the tab."""
        outcome = await asyncio.wrap_future(engine.undo(str(judgement_id), annotator, tab))
        return JSONResponse(_public(outcome.event) | {"created": outcome.created})

    @app.get("/judgements", response_model=schemas.Events)
    async def judgements(
        annotator: Annotator,
        engine: TheEngine,
        after: Annotated[int, Query(ge=0, le=2**53)] = 0,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    ) -> Response:
        """Return events with numbers above `after`, in order."""
        found = engine.events(after, limit)
        last = found[-1].number if found else after
        return JSONResponse({"events": [_public(event) for event in found], "last": last})

    @app.get("/next", response_model=schemas.NextPair, response_model_exclude_none=True)
    async def next_pair(
        annotator: Annotator, engine: TheEngine, tab: Tab = None
    ) -> schemas.NextPair:
        """Return the next pair; a `tab` gets the same one until it is answered."""
        offer = engine.next(annotator, tab)
        if offer is None:
            return schemas.NextPair(done=engine.all_judged)
        shown = shown_pair(engine.items, offer.left, offer.right)
        return schemas.NextPair(done=False, **shown)


def _add_metric(app: FastAPI) -> None:
    @app.post("/distance", response_model=schemas.Distances)
    def distance(
        given: schemas.PairsIn, annotator: Annotator, engine: TheEngine
    ) -> schemas.Distances:
        """Return the distances of pairs by the present metric."""
        rows = np.array([[_row(engine, left), _row(engine, right)] for left, right in given.pairs])
        view = engine.view
        return schemas.Distances(
            distances=view.distances(engine.items.vectors, rows).tolist(), judgements=view.position
        )

    @app.post("/neighbors", response_model=schemas.Neighbors)
    def neighbors(
        given: schemas.ItemIn, annotator: Annotator, engine: TheEngine
    ) -> schemas.Neighbors:
        """Return the nearest items by the present metric, by a scan of all."""
        row, X, view = _row(engine, given.item), engine.items.vectors, engine.view
        found = scan_rows(X, view.components, np.array([row]), given.k).nearest[0]
        distances = view.distances(X, np.stack([np.full(len(found), row), found], axis=1))
        order = np.argsort(distances, kind="stable")
        return schemas.Neighbors(
            items=[engine.items.id_of(int(other)) for other in found[order]],
            distances=distances[order].tolist(),
        )

    @app.post("/transform", response_model=schemas.Vectors)
    def transform(
        given: schemas.ItemsIn, annotator: Annotator, engine: TheEngine
    ) -> schemas.Vectors:
        """Return the vectors of items under the present metric."""
        rows = [_row(engine, item) for item in given.items]
        return schemas.Vectors(
            vectors=(engine.items.vectors[rows] @ engine.view.components.T).tolist()
        )

    @app.get(
        "/model",
        response_class=Response,
        responses={200: {"content": {"application/octet-stream": {}}}},
    )
    def model(annotator: Annotator, engine: TheEngine) -> Response:
        """Return the present model as a safetensors file, which `likewise.load` reads.

        It is a PairClassifier with the promised threshold, or a metric where none is promised.
        """
        return _download(
            model_file(engine, annotator), "application/octet-stream", "model.safetensors"
        )

    @app.get("/health", response_model=schemas.Health)
    async def health(engine: TheEngine) -> schemas.Health:
        """Return whether the service is ready; no token is needed."""
        return schemas.Health(
            ready=True,
            candidates=engine.has_candidates,
            storage="ok" if engine.writer.failure is None else "failing",
            learning="ok" if engine.learning_failure is None else "failing",
            version=__version__,
        )

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics(annotator: Annotator, engine: TheEngine) -> PlainTextResponse:
        """Return counters as text for Prometheus."""
        return PlainTextResponse(
            "".join(
                f"# HELP likewise_{name} {text}\n# TYPE likewise_{name} {kind}\n"
                f"likewise_{name} {value}\n"
                for name, kind, text, value in engine.counters()
            ),
            media_type="text/plain; version=0.0.4",
        )


def _add_page(app: FastAPI) -> None:
    @app.post("/session", status_code=204, response_class=Response)
    async def session(given: schemas.SessionIn, request: Request) -> Response:
        """Exchange a token for a cookie that scripts cannot read."""
        if request.app.state.tokens.annotator_of(given.token) is None:
            raise HTTPException(401, "this token is not known.")
        response = Response(status_code=204)
        response.set_cookie(
            cookie_name(request.headers["host"]),
            given.token,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    @app.get("/progress")
    async def progress(annotator: Annotator, engine: TheEngine) -> dict[str, Any]:
        """Return counts, the learning curve on the audit stream and whether one can stop."""
        return engine.progress(annotator)

    @app.get("/agreement")
    def agreement(
        annotator: Annotator,
        engine: TheEngine,
        conflicts: Annotated[int, Query(ge=0, le=200, description="At most so many.")] = 20,
    ) -> dict[str, Any]:
        """Return how the annotators agree, and who said what of pairs where they do not."""
        found = engine.agreement()
        return asdict(found) | {
            "conflicts": [asdict(conflict) for conflict in found.conflicts[:conflicts]],
            "n_conflicts": found.n_pairs - found.n_agreed,
        }

    @app.get("/export/pairs.csv", response_class=Response)
    def pairs(annotator: Annotator, engine: TheEngine) -> Response:
        """Return the decided pairs as a table, one row each."""
        content = pairs_csv(engine, annotator)
        return _download(content, "text/csv; charset=utf-8", "pairs.csv")

    @app.get("/export/judgements.csv", response_class=Response)
    def judgements_in_force(annotator: Annotator, engine: TheEngine) -> Response:
        """Return the judgements in force as a table, one row each."""
        content = judgements_csv(engine, annotator)
        return _download(content, "text/csv; charset=utf-8", "judgements.csv")

    @app.get("/export/report.html", response_class=Response)
    def report(annotator: Annotator, engine: TheEngine) -> Response:
        """Return a report as one HTML file."""
        content = report_file(engine, annotator)
        return _download(content, "text/html; charset=utf-8", "report.html")

    @app.get("/image", response_class=Response)
    def image(item: schemas.ItemId, annotator: Annotator, engine: TheEngine) -> Response:
        """Return the file of an image."""
        row = _row(engine, item)
        if engine.items.kind != "image":
            raise HTTPException(404, "the items are not images.")
        path = engine.items.image_path(row)
        gone = HTTPException(404, "the image is gone or cannot be shown any more.")
        media_type = content_type(path)
        if media_type is None:
            raise gone
        try:
            return Response(path.read_bytes(), media_type=media_type)
        except OSError:
            raise gone from None

    @app.get("/", response_class=Response, include_in_schema=False)
    async def page() -> Response:
        return Response(_asset("index.html"), media_type="text/html; charset=utf-8")

    @app.get("/favicon.ico", response_class=Response, include_in_schema=False)
    async def icon() -> Response:
        return Response(status_code=204)

    @app.get("/static/{name}", response_class=Response, include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in _STATIC:
            raise HTTPException(404, "there is no such file.")
        return Response(_asset(name), media_type=f"{_STATIC[name]}; charset=utf-8")


def _asset(name: str) -> bytes:
    return files("likewise.live").joinpath("page", name).read_bytes()


def _download(content: bytes, media_type: str, name: str) -> Response:
    disposition = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=disposition)

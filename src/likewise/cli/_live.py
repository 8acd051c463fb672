"""``likewise label`` and ``likewise serve``."""

from __future__ import annotations

import getpass
import secrets
import sys
import webbrowser
from pathlib import Path
from typing import Any

import click

from likewise._files import load
from likewise._runtime.validation import pluralize
from likewise.cli import _options as option
from likewise.cli._output import print_lines

_DATA_OPTIONS = option.options(
    click.option("--vectors", metavar="COLUMN|FILE", help="Column of lists, or .npy, of vectors."),
    click.option("--id", "id_column", metavar="COLUMN", help="The column with ids of items."),
    click.option("--text", "text_column", metavar="COLUMN", help="The column shown as text."),
    option.drop_option,
    click.option("--log", metavar="FILE|URL", help="SQLite file or postgresql:// of judgements."),
    click.option("--model", type=click.Path(path_type=Path), help="A model to start from."),
    click.option("--target", default="fmr<=0.01", help="The error rate to be promised."),
    click.option(
        "--choice", type=click.Choice(["active", "random"]), default="active", help="Of pairs."
    ),
    click.option(
        "--audit",
        type=click.Choice(["random", "nearby"]),
        default="random",
        show_default=True,
        help="Audit pairs: all alike, or half of them neighbours.",
    ),
)

_host_option = click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; 0.0.0.0 is every one, for a phone in the same network.",
)


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@_DATA_OPTIONS
@click.option("--port", default=0, show_default=True, help="Of the page; 0 is any.")
@_host_option
@click.option("--terminal", is_flag=True, help="Ask here and not in a browser.")
@click.option("--no-browser", is_flag=True, help="Only print the address of the page.")
def label(
    data: Path, port: int, host: str, terminal: bool, no_browser: bool, **options: Any
) -> None:
    """Judge pairs of items of DATA, and learn a metric from that.

    DATA is a table (CSV, TSV, Parquet), JSON lines, an array (.npy, .npz) or a folder of images. A
    page opens in the browser; it works without a network. Judgements go to DATA.judgements.sqlite
    unless --log says otherwise, and the next start goes on from there. In a terminal, the key E
    writes pairs, judgements, model and report to the folder DATA.export.

    \b
    Examples:
      likewise label products.csv --id product --text name --vectors products.npy
      likewise label photos
      likewise label products.csv --text name --terminal
    """
    from likewise.live import bind, serve
    from likewise.live.serving import addresses, terminated_after_closing
    from likewise.live.terminal import label_in_terminal

    if terminal and not sys.stdin.isatty():
        raise ValueError("--terminal needs a terminal, but the input is not one.")
    name = getpass.getuser()
    listening = None if terminal else bind(host, port)
    engine = _engine(data, [name], **options)
    if listening is None:
        with terminated_after_closing(), engine:
            folder = Path(f"{str(data).rstrip('/')}.export")
            count = label_in_terminal(engine, name, click.getchar, print_lines, folder)
        print_lines(f"{pluralize(count, 'pair')} judged.")
        return
    token = secrets.token_urlsafe(24)
    links = [f"{address}/#token={token}" for address in addresses(listening)]

    def started() -> None:
        print_lines(*engine.notices, f"Open {' or '.join(links)} (Ctrl-C ends).")
        if not no_browser:
            webbrowser.open(links[0])

    serve(engine, {name: token}, listening, started=started)


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@_DATA_OPTIONS
@click.option("--port", default=8765, show_default=True, help="0 is any.")
@_host_option
@click.option(
    "--token-file", required=True, type=click.Path(path_type=Path), help="Names and tokens."
)
@click.option("--allow-host", multiple=True, metavar="HOST", help="Another name it is reached by.")
@click.option("--only-shown", is_flag=True, help="Refuse pairs that the annotator was not shown.")
@click.option("--openapi", is_flag=True, help="Serve /openapi.json.")
def serve(
    data: Path,
    port: int,
    host: str,
    token_file: Path,
    allow_host: tuple[str, ...],
    only_shown: bool,
    openapi: bool,
    **options: Any,
) -> None:
    """Serve judgements on pairs of items of DATA, and the metric learned from them, over HTTP.

    DATA and the other options are those of likewise label. Each line of the token file has the name
    of an annotator and a token. The labelling page is at /.

    \b
    Example:
      likewise serve products.csv --log judgements.sqlite --token-file tokens.txt
    """
    from likewise.live import bind, read_tokens
    from likewise.live import serve as run
    from likewise.live.serving import addresses

    tokens = read_tokens(token_file)
    listening = bind(host, port)
    engine = _engine(data, list(tokens), only_shown=only_shown, **options)
    served = " and ".join(addresses(listening))

    def started() -> None:
        print_lines(*engine.notices, f"Serving {served} (Ctrl-C ends).")

    run(engine, tokens, listening, allowed_hosts=allow_host, docs=openapi, started=started)


def _engine(
    data: Path,
    annotators: list[str],
    *,
    vectors: str | None,
    id_column: str | None,
    text_column: str | None,
    drop: str | None,
    log: str | None,
    model: Path | None,
    **options: Any,
) -> Any:
    from likewise.live import Engine, read_items

    items = read_items(
        data,
        vectors=vectors,
        id_column=id_column,
        text_column=text_column,
        drop=[] if drop is None else drop.split(","),
    )
    location = log or f"{str(data).rstrip('/')}.judgements.sqlite"
    start = None if model is None else load(model)
    return Engine(items, location, model=start, annotators=annotators, **options)

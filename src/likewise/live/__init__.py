"""Judgements one at a time: a labelling page, a service, and the engine of both."""

from typing import TYPE_CHECKING

from likewise._runtime.lazy import lazy_package

if TYPE_CHECKING:
    from likewise.live._agreement import Agreement, Conflict, agreement
    from likewise.live._read_items import read_items
    from likewise.live.client import Client, ReceivedJudgement, ServiceError
    from likewise.live.engine import Engine
    from likewise.live.events import Event
    from likewise.live.fold import Fold
    from likewise.live.items import Items
    from likewise.live.ledger import Ledger
    from likewise.live.log import EventLog, LogError, StorageFullError, open_log
    from likewise.live.pending import Offer
    from likewise.live.security import read_tokens
    from likewise.live.service import create_app
    from likewise.live.serving import bind, serve
    from likewise.live.start import start_model
    from likewise.live.submission import Outcome, RefusedError
else:
    __getattr__, __dir__ = lazy_package(
        __name__,
        {
            "_read_items": ["read_items"],
            "_agreement": ["Agreement", "Conflict", "agreement"],
            "client": ["Client", "ReceivedJudgement", "ServiceError"],
            "engine": ["Engine"],
            "events": ["Event"],
            "fold": ["Fold"],
            "items": ["Items"],
            "ledger": ["Ledger"],
            "log": ["EventLog", "LogError", "StorageFullError", "open_log"],
            "pending": ["Offer"],
            "security": ["read_tokens"],
            "service": ["create_app"],
            "serving": ["bind", "serve"],
            "start": ["start_model"],
            "submission": ["Outcome", "RefusedError"],
        },
    )

__all__ = [
    "Agreement",
    "Client",
    "Conflict",
    "Engine",
    "Event",
    "EventLog",
    "Fold",
    "Items",
    "Ledger",
    "LogError",
    "Offer",
    "Outcome",
    "ReceivedJudgement",
    "RefusedError",
    "ServiceError",
    "StorageFullError",
    "agreement",
    "bind",
    "create_app",
    "open_log",
    "read_items",
    "read_tokens",
    "serve",
    "start_model",
]

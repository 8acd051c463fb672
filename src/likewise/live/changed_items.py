"""Whether what is shown of the items has changed since a log was begun."""

from __future__ import annotations

from likewise.live.items import Items
from likewise.live.log import EventLog, LogError

__all__ = ["changes_since"]

_KEY = "shown"


def changes_since(log: EventLog, items: Items) -> list[str]:
    """Return a notice if texts or cells are not those that the first judgements were made on.

    Such a log is not refused: errors in texts get corrected, and the model depends on the vectors
    alone. A log that was begun by an earlier release is compared from now on.

    Parameters
    ----------
    log : EventLog
    items : Items

    Returns
    -------
    list of str
        One sentence, or none.
    """
    shown = items.shown_fingerprint()
    try:
        before = log.remember(_KEY, shown)
    except LogError:  # the first judgement says it, if nothing can be written
        return []
    if before == shown:
        return []
    return [
        "The texts or cells of the items are not those that this log was begun with: earlier "
        "judgements may have been made on others. Ids and vectors are the same."
    ]

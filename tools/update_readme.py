"""Rewrite the table of methods in the README from the registry, `likewise.methods`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from likewise.methods import METHODS

README = Path(__file__).parent.parent / "README.md"
_TABLE = re.compile(r"^\| class \|.*\n\|[-|]+\|\n(?:\|.*\n)+", flags=re.MULTILINE)


def methods_table() -> str:
    """Return the table in Markdown."""
    lines = ["| class | learns from | what it does | paper |", "|---|---|---|---|"]
    lines += [
        f"| `{method.name}` | {method.supervision} | {method.summary} | {method.paper} |"
        for method in METHODS.values()
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    text = README.read_text(encoding="utf-8")
    updated, count = _TABLE.subn(lambda _: methods_table(), text)
    if count != 1:
        print(f"{README} has {count} tables of methods, but one is expected.", file=sys.stderr)
        return 1
    README.write_text(updated, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

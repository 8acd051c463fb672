"""``likewise serve`` and ``likewise label`` in a process of their own."""

import re
import subprocess
import sys
from contextlib import contextmanager

TOKENS = {"ann": "token-of-ann-0123456789", "bob": "token-of-bob-0123456789"}


@contextmanager
def running(*arguments):
    """Yield the address that a command prints; the process ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "likewise", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        printed = []
        for line in process.stdout:
            printed.append(line)
            if found := re.search(r"http://(127\.0\.0\.1|\[::1\]):\d+\S*", line):
                yield found[0], process
                break
        else:
            raise AssertionError("".join(printed))
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def write_tokens(folder):
    path = folder / "tokens.txt"
    path.write_text("# names and tokens\n" + "".join(f"{n} {t}\n" for n, t in TOKENS.items()))
    return path

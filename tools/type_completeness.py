"""Fail if pyright knows the types of less than a given share of the public names.

    python tools/type_completeness.py [LEAST]

`pyright` and the Python with likewise installed, not in place, are those found first in PATH:
`make completeness` arranges it.
"""

import json
import subprocess
import sys

LEAST = 0.97


def main() -> int:
    least = float(sys.argv[1]) if len(sys.argv) > 1 else LEAST
    command = ["pyright", "--verifytypes", "likewise", "--ignoreexternal", "--outputjson"]
    # pyright's exit status is 1 for anything below 100 %.
    found = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    completeness = found["typeCompleteness"]
    for symbol in completeness["symbols"]:
        if symbol["isExported"] and not symbol["isTypeKnown"]:
            print(symbol["name"])
    share = completeness["completenessScore"]
    print(f"{share:.1%} of the public names have known types; {least:.0%} are needed")
    return share < least


if __name__ == "__main__":
    sys.exit(main())

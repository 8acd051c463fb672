import sys
from pathlib import Path

# `benchmarks/` is a plain folder of the repository: found from its root, never installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

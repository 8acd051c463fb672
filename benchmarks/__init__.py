"""Benchmarks: declared with their rivals, run under the same conditions, reported with our losses.

    python -m benchmarks list                           what is declared
    python -m benchmarks environments [NAME…] [--check]  make the rivals' environments
    python -m benchmarks run [NAME…] [--smoke]          measure; results/NAME.json
    python -m benchmarks page                           results/README.md from all results

A new benchmark is one class in one file here, and a line in `declared.py`; a new rival is one
function in a file of `rivals/`.
"""

"""Reports: one HTML file that says which metric to use and shows why.

They need jinja2 and matplotlib: ``pip install "likewise[report]"``.
"""

from likewise.report._cost import estimate_report
from likewise.report._render import render
from likewise.report._summarise import summarise
from likewise.report._write import write_report

__all__ = ["estimate_report", "render", "summarise", "write_report"]

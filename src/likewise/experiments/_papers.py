"""Papers with experiments in several files."""

POLA_PAPER = (
    "S. Shalev-Shwartz, Y. Singer, A. Y. Ng, Online and batch learning of pseudo-metrics, ICML 2004"
)

"""Papers with experiments in several files."""

POLA_PAPER = (
    "S. Shalev-Shwartz, Y. Singer, A. Y. Ng, Online and batch learning of pseudo-metrics, ICML 2004"
)
LMNN_PAPER = (
    "K. Q. Weinberger, L. K. Saul, Distance metric learning for large margin nearest neighbor "
    "classification, JMLR 10, 2009"
)

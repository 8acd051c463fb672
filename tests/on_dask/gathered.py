"""What a client receives."""

import numpy as np


def arrays_in(result):
    """Return the arrays in tuples and lists of any depth."""
    if isinstance(result, (tuple, list)):
        return [array for part in result for array in arrays_in(part)]
    return [result] if isinstance(result, np.ndarray) else []

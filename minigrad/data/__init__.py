"""Which data can be learnt from without a download?

One small real data set travels with the package; loaders return plain NumPy arrays, and the caller makes tensors of
them. Everything about a data set (where it is from, how it is split) is in its own module.
"""

from minigrad.data.digits import load_digits

__all__ = ["load_digits"]

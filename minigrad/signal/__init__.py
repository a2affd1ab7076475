"""Functions for signals under PyTorch's name: the windows `mg.signal.windows`."""

from minigrad.signal import windows as windows

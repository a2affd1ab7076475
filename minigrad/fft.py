"""Fourier transforms with PyTorch's names and arguments: `mg.fft.rfft(x)`.

This file computes nothing: each name is an op of `minigrad/ops/fourier`.
"""

from minigrad.declare.advice import present
from minigrad.declare.names import FFT, namespaces

present(globals(), namespaces[FFT])

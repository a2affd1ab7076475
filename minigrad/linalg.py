"""Linear algebra with PyTorch's names and arguments: `mg.linalg.cholesky(A)`.

This file computes nothing: each name is an op of `minigrad/ops`, mostly of `minigrad/ops/linalg`.
"""

from minigrad.declare.advice import present
from minigrad.declare.names import LINALG, namespaces
from minigrad.errors import ArgumentError

present(globals(), namespaces[LINALG] | {"LinAlgError": ArgumentError})  # of a singular matrix, for example

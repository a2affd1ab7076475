"""Neural networks: `functional` has the ops of layers under PyTorch's names."""

from minigrad.api.absent import present
from minigrad.nn import functional

present(globals(), {"functional": functional})

"""`mg.data.DataLoader` under the name of PyTorch's module."""

from minigrad import data
from minigrad.declare.advice import present

NAMES = ("DataLoader", "default_collate", "default_convert", "get_worker_info")
present(globals(), {name: getattr(data, name) for name in NAMES})

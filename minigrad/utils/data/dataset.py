"""The datasets of `mg.data` under the name of PyTorch's module."""

from minigrad import data
from minigrad.declare.advice import present

NAMES = ("ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
         "random_split")  # fmt: skip
present(globals(), {name: getattr(data, name) for name in NAMES})

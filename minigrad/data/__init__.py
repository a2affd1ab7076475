"""Training data: datasets, samplers and `DataLoader` under PyTorch's names, and readers for the user's own files.

The package contains one small real data set, `load_digits`.  Other data is generated, or read from files.
"""

from typing import Any

from minigrad.data.collate import default_collate, default_convert
from minigrad.data.datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    WorkerInfo,
    get_worker_info,
    random_split,
)
from minigrad.data.digits import load_digits
from minigrad.data.generated import moons, spirals
from minigrad.data.images import ImageFolder, read_image
from minigrad.data.loader import DataLoader
from minigrad.data.samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from minigrad.data.tables import CSV
from minigrad.data.texts import Characters, character_names, read_text, topics
from minigrad.data.transforms import Compose, Normalize, OneHot, RandomCrop, RandomHorizontalFlip
from minigrad.data.vision import CIFAR10, CIFAR100, MNIST, FashionMNIST, read_idx
from minigrad.declare.advice import present

DistributedSampler: Any  # defined in `dist`, which imports this package
__all__ = [
    "CIFAR10", "CIFAR100", "CSV", "MNIST", "BatchSampler", "ChainDataset", "Characters", "Compose", "ConcatDataset",
    "DataLoader", "Dataset", "FashionMNIST", "ImageFolder", "IterableDataset", "Normalize",
    "OneHot", "RandomCrop", "RandomHorizontalFlip", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset",
    "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "WorkerInfo", "character_names",
    "default_collate", "default_convert", "get_worker_info", "load_digits", "moons", "random_split", "read_idx",
    "read_image", "read_text", "spirals", "topics",
]  # fmt: skip
present(globals(), {name: globals()[name] for name in __all__}, {"DistributedSampler": "dist.sampler"})

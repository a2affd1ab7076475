"""The samplers of `mg.data` under the name of PyTorch's module."""

from minigrad import data
from minigrad.declare.advice import present

NAMES = ("BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
         "WeightedRandomSampler")  # fmt: skip
present(globals(), {name: getattr(data, name) for name in NAMES})

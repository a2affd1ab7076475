"""`mg.data` under PyTorch's name, with PyTorch's modules."""

from minigrad import data
from minigrad.declare.advice import present
from minigrad.utils.data import dataloader, dataset, distributed, sampler

MODULES = {"dataloader": dataloader, "dataset": dataset, "distributed": distributed, "sampler": sampler}
present(globals(), MODULES | {name: getattr(data, name) for name in dir(data)})

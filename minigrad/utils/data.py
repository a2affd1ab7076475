"""`mg.data` under PyTorch's name, with PyTorch's modules, such as `utils.data.sampler`."""

import sys
from types import ModuleType

from minigrad import data
from minigrad.declare.advice import present

MODULES = {
    "dataloader": "DataLoader default_collate default_convert get_worker_info",
    "dataset": "ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset random_split",
    "distributed": "DistributedSampler",
    "sampler": "BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler WeightedRandomSampler",
}
for _name, _names in MODULES.items():
    _path = f"{__name__}.{_name}"
    globals()[_name] = sys.modules[_path] = ModuleType(_path, f"Names of `mg.data` in PyTorch's module `{_name}`.")
    present(vars(globals()[_name]), {each: getattr(data, each) for each in _names.split()})
present(globals(), {name: globals()[name] for name in MODULES} | {name: getattr(data, name) for name in dir(data)})

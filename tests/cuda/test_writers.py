"""The programs that test_compile.py compiles come from every writer of the backend: without a compiler, too."""

import importlib
import pkgutil

from cuda_requests import FAMILIES, collected

from minigrad.backends import cuda


def test_every_writer_of_the_backend_is_among_them():
    written = set().union(*[collected(family)[1] for family in FAMILIES])
    writers = {
        name
        for module in pkgutil.iter_modules(cuda.__path__)
        if module.name != "device"  # which needs cuda-core, and writes nothing
        for name, value in vars(importlib.import_module(f"{cuda.__name__}.{module.name}")).items()
        if name.startswith("write_") and value.__module__.startswith(cuda.__name__)
    }
    assert writers == written

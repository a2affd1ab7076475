"""The programs that test_compile.py compiles come from every template of the backend: without a compiler, too."""

import importlib
import pkgutil

from cuda_requests import FAMILIES, collected

from minigrad.backends import cuda as backends
from minigrad.kernels import cuda as kernels


def test_every_template_of_the_backend_is_among_them():
    written = set().union(*[collected(family)[1] for family in FAMILIES])
    templates = {
        name
        for package in (backends, kernels)
        for module in pkgutil.iter_modules(package.__path__)
        if module.name != "device"  # which needs cuda-core, and has no template
        for name, value in vars(importlib.import_module(f"{package.__name__}.{module.name}")).items()
        if callable(value) and hasattr(value, "loop")
    }
    assert templates == written

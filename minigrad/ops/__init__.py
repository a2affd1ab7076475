"""Every op, declared once: importing this package imports all of its modules, and so fills the schema."""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

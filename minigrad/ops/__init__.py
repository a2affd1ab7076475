"""All ops, each declared once.  Importing this package imports all of its modules, and this fills the schema."""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

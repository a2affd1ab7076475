"""Which names does a test file of PyTorch see instead of `torch`?

`install` replaces `__import__`: a file of the test folder that imports `torch` receives a namespace, whose names are
those of minigrad, and PyTorch's where minigrad has none, because helpers need constants while they are imported. The
modules below `torch.testing` are executed a second time with these namespaces, so that `make_tensor`, `assertEqual`
and the lists of samples are made of minigrad's tensors. PyTorch itself continues to import its own modules.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.util
import pkgutil
import sys
import types
from typing import Any

import torch

import minigrad as mg

MARK = "__names_of_minigrad__"  # in the globals of modules that are executed a second time
ABSENT = object()
modules: dict[str, types.ModuleType] = {}
running = False  # is a test running? Then a public name that minigrad lacks is an error.
folder = "/nowhere"


class Absent(AttributeError):
    """A test uses a public name that minigrad does not have."""


class OfBoth(type):
    """Makes `isinstance(x, torch.dtype)` true for the dtypes of both libraries."""

    def __instancecheck__(cls, each: object) -> bool:
        """Is it a dtype?"""
        return isinstance(each, (mg.dtype, torch.dtype))


class dtype(metaclass=OfBoth):
    """`torch.dtype`: helpers check the type of dtypes that minigrad lacks."""


def finfo(dtype: Any = None) -> Any:
    """Describe a float dtype, also one that minigrad lacks and that a table of helpers contains."""
    return (torch if isinstance(dtype, torch.dtype) else mg).finfo(*([] if dtype is None else [dtype]))


class StandIn:
    """A helper that the installed release lacks: a decorator without effect, or a false value."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a decorated function as it is."""
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def __getattr__(self, name: str) -> Any:
        """Return a decorator of the helper, which has no effect either."""
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __bool__(self) -> bool:
        """Return False: the helper asks for a property of a GPU."""
        return False


def common(*dtypes: Any) -> Any:
    """Leave out the dtypes that minigrad lacks, in the helpers that build sets of dtypes."""
    return vars(module("torch.testing._internal.common_dtype"))["_dispatch_dtypes"](
        each for each in dtypes if not isinstance(each, torch.dtype)
    )


def missing(module: types.ModuleType) -> Any:
    """Make the `__getattr__` of a helper module whose names differ between PyTorch's releases."""

    def look_up(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith("_and_refs"):  # the lists of operators without references, which are out of scope
            return vars(module)[name.removesuffix("_and_refs")]
        made = vars(module).get(f"get_{name}")
        return made() if made else StandIn()

    return look_up


def own(path: str) -> list[Any]:
    """Minigrad's namespaces for a module of PyTorch: the one of its name, or those that contain it."""
    parts, spaces = path.split(".")[1:], [mg]
    if path.partition(".")[0] == "functorch":  # the older name of torch.func
        return [mg.func]
    if any(part.startswith("_") for part in parts):
        return []
    for part in parts:
        deeper = sys.modules.get(f"{spaces[-1].__name__}.{part}", getattr(spaces[-1], part, None))
        if not isinstance(deeper, types.ModuleType):
            break
        spaces.append(deeper)
    return spaces[:0:-1] if parts else [mg]


class Namespace(types.ModuleType):
    """A module of PyTorch, with minigrad's names."""

    def __init__(self, path: str) -> None:
        """Find the namespaces that answer for a module."""
        super().__init__(path)
        self.__dict__["theirs"] = importlib.import_module(path)
        self.__dict__["mine"] = own(path)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        """Return minigrad's value of a name, or PyTorch's, if minigrad has none."""
        if name == "__all__":
            return self.theirs.__all__
        if self.__name__ == "torch.library":  # files define operators that only tests out of scope use
            return lambda *args, **kwargs: lambda function: StandIn()
        theirs = getattr(self.theirs, name, ABSENT)
        if isinstance(theirs, types.ModuleType) and theirs is sys.modules.get(f"{self.__name__}.{name}"):
            return module(f"{self.__name__}.{name}")
        value = ABSENT
        if not name.startswith("_"):
            value = next(
                (found for space in self.mine if (found := getattr(space, name, ABSENT)) is not ABSENT), ABSENT
            )
        if value is ABSENT:
            if theirs is ABSENT:
                raise AttributeError(f"neither library has {self.__name__}.{name}")
            caller = sys._getframe(1).f_globals.get("__file__") or ""
            public = not any(part.startswith("_") for part in (*self.__name__.split("."), name))
            if running and public and caller.startswith(folder):
                raise Absent(f"minigrad has no {self.__name__}.{name}")
            return theirs
        value = finfo if value is mg.finfo else dtype if value is mg.dtype else value
        self.__dict__[name] = value
        return value


def executed(path: str) -> types.ModuleType:
    """Execute a helper module of PyTorch a second time, with minigrad's names."""
    spec = importlib.util.find_spec(path)
    if spec is None or spec.origin is None or spec.loader is None:
        raise ModuleNotFoundError(path)
    again = importlib.util.module_from_spec(spec)
    setattr(again, MARK, True)
    modules[path] = again
    source = spec.loader.get_source(path)  # type: ignore[attr-defined]
    for side in ("tensor", "actual", "expected"):  # the layout of a tensor of minigrad is its shape with strides
        source = source.replace(f"{side}.layout", "torch.strided")
    exec(compile(source, spec.origin, "exec", dont_inherit=True), again.__dict__)
    if path.endswith(".common_dtype"):
        vars(again)["_validate_dtypes"] = common
    if path.endswith(".common_utils"):
        vars(again)["dtype_name"] = lambda each: str(each).rpartition(".")[2]
    again.__getattr__ = missing(again)  # type: ignore[method-assign]
    return again


def module(path: str) -> types.ModuleType:
    """Return the module that stands for one of PyTorch's, with its parents."""
    if path == "torch.testing._internal.custom_op_db":  # operators that only tests out of scope use
        return importlib.import_module(path)
    if path not in modules:
        parent, _, name = path.rpartition(".")
        above = module(parent) if parent else None
        if path not in modules:  # the parent may have imported it
            modules[path] = executed(path) if f"{path}.".startswith("torch.testing.") else Namespace(path)
        again = f"{path}.".startswith("torch.testing.")
        if above is not None and (
            again or getattr(sys.modules[parent], name, None) is sys.modules[path]
        ):  # torch.autograd.gradcheck is a function
            above.__dict__[name] = modules[path]
    return modules[path]


def install(tests: str) -> None:
    """Give minigrad's names to the modules of a folder and to their helpers."""
    global folder
    folder, original = tests, builtins.__import__

    def replaced(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        within = globals or {}
        full = importlib.util.resolve_name("." * level + name, within.get("__package__")) if level else name
        ours = MARK in within or str(within.get("__file__")).startswith(tests)
        if not ours or full.partition(".")[0] not in ("torch", "functorch"):
            return original(name, globals, locals, fromlist, level)
        found = module(full)
        for each in fromlist or ():
            if each != "*" and not hasattr(found, each):
                module(f"{full}.{each}")
        return found if fromlist else module(full.partition(".")[0])

    builtins.__import__ = replaced  # type: ignore[assignment]


def install_lookup() -> None:
    """Make `mock.patch("torch.nn.name")` find minigrad's names."""
    original = pkgutil.resolve_name

    def resolve(name: str) -> Any:
        if name.partition(".")[0] != "torch":
            return original(name)
        return functools.reduce(getattr, name.split(".")[1:], module("torch"))

    pkgutil.resolve_name = resolve


torch.testing._internal = importlib.import_module("torch.testing._internal")

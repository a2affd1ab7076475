"""Find the tensors and numbers that a function reads besides its arguments: closures, globals, attributes, modules.

`Outside` traverses from a function to every tensor that its code can reach by name, and stores every object on the
path.  A later call compares these objects: while the same objects are found, a recorded program fits.  Values that are
written into the tensors do not matter, since a program reads their memory at each call.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from operator import is_
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from minigrad.autodiff.custom import custom_vjp
from minigrad.core.code import defined
from minigrad.errors import RecordingError
from minigrad.jitting.program import defined_at
from minigrad.nn.modules.hooks import Hooks
from minigrad.nn.modules.members import BUFFERS, CHILDREN, PARAMETERS
from minigrad.nn.modules.members import PLAIN as CONTAINERS
from minigrad.nn.modules.module import Module
from minigrad.optim.optimizer import Optimizer
from minigrad.runtime.changes import changes
from minigrad.runtime.tensor import Tensor

PLAIN = (bool, int, float, complex, str, bytes, type(None))
DEPTH = 8  # maximum number of containers and attributes between the function and a tensor
COUNTED = (PARAMETERS, BUFFERS, CHILDREN, CONTAINERS)  # dicts of a module whose changes `changes.count` counts
ITERABLE = (list, tuple, set, frozenset, deque)
SHORT = 16  # maximum length of a list whose items are compared in generated text, which is faster than a loop
MISSING = object()
ITEM, ATTRIBUTE = "[{!r}]".format, ".{}".format
OWN = (
    str(Path(__file__).parents[1]),
    "<minigrad",
)  # the folder of this package, and the start of the name of generated code


class Part:
    """Describe a container or object on the path from a jitted function to a tensor.

    way: the path from the function to the container or object, as text.
    read: a function that returns the current contents; for a dict, the keys before the values.
    held: the contents when the part was made.
    suffix: a function that converts a key or an index to the text of one step of the path.
    container: the list, dict, set or deque, whose contents can be restored; None for other objects.
    """

    __slots__ = ("container", "held", "read", "suffix", "way")

    def __init__(
        self, way: str, read: Callable[[], list[Any]], suffix: Callable[[Any], str] = ITEM, container: Any = None
    ) -> None:
        self.way, self.read, self.held, self.suffix, self.container = way, read, read(), suffix, container

    def restore(self) -> None:
        """Restore the earlier contents of the container."""
        box, held = self.container, self.held
        if box is not None:
            box.clear()
            if isinstance(box, (list, deque)):
                box.extend(held)
            else:
                box.update(self.by_key(held) if isinstance(box, dict) else held)

    def change(self) -> str | None:
        """Return the path that refers to a different object now, with the values of numbers, or None."""
        held, now = self.by_key(self.held), self.by_key(self.read())
        for key, before in held.items():
            after = now.get(key, before)
            if not same(before, after):
                return difference(self.way + self.suffix(key), before, after)
        if len(held) != len(now):
            return f"{self.way}, which holds {len(now)} objects instead of {len(held)}"
        return None if all(map(same, held, now)) else f"{self.way}, which holds other keys or elements"

    def by_key(self, held: list[Any]) -> dict[Any, Any]:
        """Return the values of a dict by their keys, the elements of a set, or other objects by their positions."""
        if isinstance(self.container, dict):
            return dict(zip(held[: len(held) // 2], held[len(held) // 2 :]))
        return {x: x for x in held} if isinstance(self.container, set) else dict(enumerate(held))

    def unchanged(self) -> bool:
        """Return whether the part still contains the same objects, or equal numbers."""
        now = self.read()
        if len(now) != len(self.held):
            return False
        if all(map(is_, now, self.held)):
            return True
        if not all(map(same, now, self.held)):
            return False
        self.held = now
        return True


def same(a: Any, b: Any) -> bool:
    """Return whether two values are one object, or equal plain values of one class."""
    return a is b or (
        type(a) is type(b) and isinstance(a, PLAIN) and (str(a) == str(b) if isinstance(a, float) else a == b)
    )


def difference(name: str, before: Any, after: Any) -> str:
    """Return the name of an object that was replaced, with both values if they are plain."""
    plain = isinstance(before, PLAIN) and isinstance(after, PLAIN)
    return f"{name} from {before!r} to {after!r}" if plain else name


class Outside:
    """Find the tensors that a function can reach without arguments, and the objects on the paths to them.

    tensors: the tensors by their paths, such as "model.weight".
    cells, names: the variables of closures and of modules on these paths, with their values.
    parts: the containers and other objects on these paths.
    modules: the neural network modules; `changes` counts changes of their members.
    options: the options of optimizers, which may change between calls, but which the function must not change.
    same_objects: a function that returns whether the variables and parts still refer to the same objects.
    function: the function at which the traversal starts.
    memory: the value of `changes.memory` with which the layouts and classes of the tensors were compared.
    """

    same_objects: Callable[[], bool]

    def __init__(self, function: Callable[..., Any], more: tuple[Any, ...] = ()) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.cells: list[tuple[Any, Any]] = []
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        self.parts: list[Part] = []
        self.modules: list[Part] = []
        self.options: list[Part] = []
        self.seen: set[int] = set()
        self.function = function
        self.visit(function, getattr(function, "__name__", "function"), 0)
        for k, each in enumerate(more):
            self.visit(each, f"argument {k}", 0)
        self.count, self.hooks = changes.count, changes.hooks
        self.memory = -1

    # ---- the traversal

    def visit(self, x: Any, way: str, depth: int) -> None:
        """Continue the traversal from an object."""
        if isinstance(x, Tensor):
            self.tensors.setdefault(way, x)
            base = x.base
            if isinstance(base, Tensor):
                self.tensors.setdefault(f"{way}.base", base)
        elif (
            not isinstance(x, (*PLAIN, np.ndarray, np.generic, ModuleType))
            and depth <= DEPTH
            and id(x) not in self.seen
        ):
            self.seen.add(id(x))
            prefix = "" if isinstance(x, FunctionType) else way  # a variable has the name that the code uses
            for name, value in self.children(x, way):
                self.visit(value, prefix + name, depth if isinstance(x, Module) else depth + 1)

    def children(self, x: Any, way: str) -> Iterator[tuple[str, Any]]:
        """Yield the objects that x refers to, and store the parts that must stay the same."""
        if isinstance(x, ITERABLE):
            yield from self.items(x, way)
        elif isinstance(x, dict):
            self.parts.append(Part(way, lambda: [*x, *x.values()], container=x))
            yield from [(f"[{key!r}]", value) for key, value in x.items()]
        elif isinstance(x, MethodType):
            self.visit(x.__self__, "self", 0)
            yield "", x.__func__
        elif isinstance(x, (property, cached_property)):
            yield "", x.fget if isinstance(x, property) else x.func
        elif isinstance(x, partial):
            yield from [("", x.func), (".args", x.args), (".keywords", x.keywords)]
        elif isinstance(x, FunctionType):
            yield from self.variables(x, way)
        elif isinstance(x, Module) and "__wrapped__" not in x.__dict__:  # a jitted module leads to the module
            yield from self.members(x, way)
        elif isinstance(x, Optimizer):
            for k, group in enumerate(x.param_groups):
                self.options.append(options_of(f"{way}.param_groups[{k}]", group))
                yield "", group["params"]
        elif isinstance(x, type):
            yield from [*self.attributes(x, way), *[("", base) for base in x.__bases__]] if of_user(x) else ()
        elif hasattr(x, "__wrapped__") and callable(x):
            yield from [("", x.__wrapped__), *([("", x.fwd), ("", x.bwd)] if isinstance(x, custom_vjp) else [])]
        elif of_user(type(x)):
            yield from self.attributes(x, way)
            yield "", type(x)
        elif getattr(type(x), "stores_tensors", False):  # a class of the library, such as a distribution
            yield from self.attributes(x, way)

    def items(self, x: Any, way: str) -> Iterator[tuple[str, Any]]:
        """Yield the items of a list, tuple, set or deque."""
        if not isinstance(x, (tuple, frozenset)):
            self.parts.append(Part(way, lambda: list(x), container=x))
        yield from [(f"[{k}]", value) for k, value in enumerate(x)]

    def attributes(self, x: Any, way: str) -> Iterator[tuple[str, Any]]:
        """Yield the attributes of an object, or of a class that a user wrote."""
        values = getattr(x, "__dict__", None)
        if values is not None:
            self.parts.append(members_of(x, way))
            yield from [(f".{name}", value) for name, value in values.items() if not name.startswith("__")]
        for kind in type(x).__mro__ if not isinstance(x, type) else ():
            slots = kind.__dict__.get("__slots__", ())
            slots = [name for name in ((slots,) if isinstance(slots, str) else slots) if not name.startswith("__")]
            if slots:
                self.parts.append(Part(way, partial(attributes_of, x, slots), [*map(ATTRIBUTE, slots)].__getitem__))
                yield from [(f".{name}", getattr(x, name, None)) for name in slots]

    def variables(self, x: FunctionType, way: str) -> Iterator[tuple[str, Any]]:
        """Yield the variables that a function reads from enclosing functions and its module, and its defaults."""
        if x.__code__.co_filename.startswith(OWN):
            if hasattr(x, "__wrapped__"):  # a transform such as mg.func.grad leads to the function of the user
                yield "", x.__wrapped__
            return
        scopes, names = [x.__globals__], names_of(x.__code__)
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or ()):
            value = content(cell)
            self.cells.append((cell, value))
            scopes += scope_of(value)
            yield name, value
        for scope in scopes:
            for name in sorted(names & scope.keys()):
                self.names.append((scope, name, scope[name]))
                scopes += [each for each in scope_of(scope[name]) if not any(each is s for s in scopes)]
                yield name, scope[name]
        if x.__defaults__ or x.__kwdefaults__:
            self.parts.append(Part(way, lambda: [x.__defaults__, *(x.__kwdefaults__ or {}).values()], "".format))
            last = x.__code__.co_varnames[: x.__code__.co_argcount][::-1]
            yield from [*zip(last, (x.__defaults__ or ())[::-1]), *(x.__kwdefaults__ or {}).items()]
        if hasattr(x, "__wrapped__"):
            yield "", x.__wrapped__

    def members(self, x: Module, way: str) -> Iterator[tuple[str, Any]]:
        """Yield the attributes of a module and its methods; one counter records whether any module has changed."""
        self.modules.append(members_of(x, way))
        for name, value in vars(x).items():
            if isinstance(value, (Tensor, Module)) or not name.startswith("_"):
                yield f".{name}", value
        for name, hooks in vars(x).items():
            if name.startswith("_") and isinstance(hooks, dict) and name not in COUNTED:
                yield f".{name}", hooks
            elif isinstance(hooks, Hooks):
                yield from [(f".{name}.{kind}", each) for kind, each in vars(hooks).items()]
        for kind in type(x).__mro__:
            if of_user(kind):
                yield "", kind

    # ---- the comparison

    def changed(self) -> list[str]:
        """Return the names of the objects that are different now, with the values of numbers."""
        names = [
            difference(name, value, scope.get(name, MISSING))
            for scope, name, value in self.names
            if not same(scope.get(name, MISSING), value)
        ]
        names += [part.change() for part in [*self.parts, *self.modules, *self.options] if part.change()]  # type: ignore[misc]
        names += ["a variable of an enclosing function" for cell, value in self.cells if not same(content(cell), value)]
        return names

    def check(self) -> None:
        """Raise RecordingError if the function itself has changed an object: a program would not change it again."""
        self.hooks = changes.hooks
        changed = self.changed()
        if changed:
            raise RecordingError(
                f"{defined_at(self.function)}jit: the function changes {changed[0]}, but later calls would not repeat "
                "this change; store a changing number as a 0-d tensor and write it in place, return tensors, or make "
                "the change outside the function"
            )

    def restore(self) -> None:
        """Restore all objects that a failed recording has replaced."""
        for part in [*self.parts, *self.modules, *self.options]:
            if part.change():
                part.restore()
        for scope, name, value in self.names:
            scope[name] = value
        for cell, value in self.cells:
            if value is not MISSING:
                cell.cell_contents = value

    def unchanged(self) -> bool:
        """Return whether the same objects are found as before, and no hook was registered or removed."""
        if self.hooks != changes.hooks or not self.same_objects():
            return False
        if self.count != changes.count:
            if not all(part.unchanged() for part in self.modules):
                return False
            self.count = changes.count
        return True

    def remember(self, count: int) -> bool:
        """Store the value of `changes.memory` with which the tensors were compared, and return True."""
        self.memory = count
        return True

    def tests(self, bound: dict[str, Any]) -> list[str]:
        """Return the conditions of `unchanged` as text, whose names are added to `bound`.

        A ValueError or a LookupError means that a variable has no value any more, or that a list has become shorter.
        """
        bound |= {"outside_now": self, "changes": changes}
        counted = ["(outside_now.count == changes.count or outside_now.unchanged())"] if self.modules else []
        return ["outside_now.hooks == changes.hooks", *counted, *self.tests_of_objects(bound)]

    def tests_of_objects(self, bound: dict[str, Any]) -> list[str]:
        """Return the conditions that the variables and parts refer to the same objects, as text."""
        bound |= {"same": same, "content": content, "MISSING": MISSING}
        tests = []
        for k, (cell, value) in enumerate(self.cells):
            bound |= {f"cell{k}": cell, f"held{k}": value}
            tests.append(f"same(content(cell{k}), held{k})" if value is MISSING else
                         f"(cell{k}.cell_contents is held{k} or same(cell{k}.cell_contents, held{k}))")  # fmt: skip
        for k, (scope, key, value) in enumerate(self.names):
            bound |= {f"scope{k}": scope, f"value{k}": value}
            tests.append(f"((now := scope{k}[{key!r}]) is value{k} or same(now, value{k}))")
        for k, part in enumerate(self.parts):
            bound[f"part{k}"] = part.unchanged
            if isinstance(part.container, list) and len(part.held) <= SHORT:
                bound |= {f"list{k}": part.container, **{f"list{k}_{i}": x for i, x in enumerate(part.held)}}
                items = "".join([f" and list{k}[{i}] is list{k}_{i}" for i in range(len(part.held))])
                tests.append(f"(len(list{k}) == {len(part.held)}{items} or part{k}())")
            else:
                tests.append(f"part{k}()")
        return tests

    def __getattr__(self, name: str) -> Any:
        """Write `same_objects` at its first use: a loop over the variables would cost more than a small program."""
        if name != "same_objects":
            raise AttributeError(f"Outside has no {name!r}")
        bound: dict[str, Any] = {}
        text = f"""def same_objects():
    try:
        return {" and ".join(self.tests_of_objects(bound)) or True}
    except (ValueError, LookupError):  # a variable has no value any more
        return False"""
        self.same_objects = defined("same_objects", text, bound)
        return self.same_objects


def members_of(x: Any, way: str) -> Part:
    """Return the attributes of an object as a part."""
    values = vars(x)
    if not isinstance(values, dict):  # x is a class, whose `vars` is a read-only view
        return Part(way, lambda: list(vars(x).values()), [*map(ATTRIBUTE, values)].__getitem__)
    return Part(way, lambda: [*values, *values.values()], ATTRIBUTE, values)


def options_of(way: str, group: dict[str, Any]) -> Part:
    """Return the options of an optimizer's group as a part."""
    return Part(way, lambda: [*group, *group.values()], ITEM, group)


def attributes_of(x: Any, names: Sequence[str]) -> list[Any]:
    """Return some attributes of an object, with None for each missing attribute."""
    return [getattr(x, name, None) for name in names]


def content(cell: Any) -> Any:
    """Return the value of an enclosing function's variable, or MISSING."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def names_of(code: CodeType) -> set[str]:
    """Return the names that code reads, including functions that are defined in it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_of(constant)
    return names


def scope_of(x: Any) -> list[dict[str, Any]]:
    """Return the variables of a module that belongs neither to Python nor to an installed library, in a list."""
    if not isinstance(x, ModuleType) or "-packages" in str(getattr(x, "__file__", "")):
        return []
    return [] if x.__name__.partition(".")[0] in sys.stdlib_module_names | {"minigrad", "numpy"} else [vars(x)]


def of_user(kind: type) -> bool:
    """Return whether a class may have objects that refer to tensors of the user.

    This excludes classes of Python and of libraries.
    """
    return kind.__module__.partition(".")[0] not in {
        "builtins",
        "minigrad",
        "numpy",
        "collections",
        "functools",
        "typing",
    }

"""`jit`: the functions that users call, and the choice of the program for a call."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from minigrad.core.plans import bounded, epoch
from minigrad.core.roles import Number
from minigrad.declare.advice import Advised, defined_above
from minigrad.errors import ArgumentError, warn
from minigrad.func.trees import flatten
from minigrad.jitting.arena import report_of
from minigrad.jitting.differentiable import DifferentiableEntry
from minigrad.jitting.entry import Entry, Unrepeatable
from minigrad.jitting.guards import REFUSED, key_of, modes_now, name_of, shown_kind
from minigrad.jitting.program import recording
from minigrad.jitting.recorder import Recording
from minigrad.jitting.turns import eagerly, sole_caller, turn
from minigrad.jitting.verifying import verified
from minigrad.kernels.store import collector_paused
from minigrad.runtime.observers import observed
from minigrad.runtime.operands import CONCRETE
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import stack

NO_PROGRAM = "no program yet: the second call with arguments of a kind is recorded"
MANY = 8  # number of programs of one function after which a warning names the argument that changes
LIMIT = 64  # maximum number of programs that a function stores; at this number, the older half is dropped


class Jitted:
    """Call a function eagerly, then record it, and then run the recorded program.

    The first call with arguments of a kind runs eagerly, the second is recorded, and all later calls run the program.
    `jit` defines when arguments are of one kind.

    Parameters
    ----------
    function : callable
        Function, method or module; see `mg.jit`.
    fuse : bool, default True
        Whether elementwise launches that share memory become one loop.
    verify : int, default 0
        Number n such that the first run of a program and every nth run after it are compared with the function; 0 for
        no comparison.

    Attributes
    ----------
    programs : dict
        For each kind of arguments, the list of recorded entries, with the newest last.
    last : Entry or None
        The program that ran last.
    ready : callable
        Function of the arguments of a call that runs the program that ran last, or returns REFUSED.
    modes : tuple
        Values of the settings on which the programs depend.
    methods : dict
        For a method: one Jitted per object on which the method was called.
    """

    def __init__(self, function: Callable[..., Any], fuse: bool = True, verify: int = 0) -> None:
        self.fuse, self.verify = fuse, verify
        self.calls = 0  # number of program runs, if they are verified
        functools.update_wrapper(self, function, updated=())
        self.__name__ = name_of(function)
        self.programs: dict[Any, list[Entry]] = {}
        self.by_value: set[Any] = set()
        self.again: list[str] = []
        self.last: Entry | None = None
        self.ready: Callable[..., Any] = refuse
        self.modes: tuple[Any, ...] = ()
        self.epoch = epoch[0]
        self.methods: dict[int, tuple[Any, Jitted]] = {}
        self.warned = False
        self.function = function  # the last attribute: see `JittedObject.__setattr__`

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function: as a program if one fits, otherwise eagerly."""
        try:
            if not kwargs:
                result = self.ready(*args)
                if result is not REFUSED:
                    return result
            if observed.idle and not stack.transforms:
                return self.look_up(args, kwargs)
        except Unrepeatable:
            return eagerly(self.function, args, kwargs)
        # The call is inside a recording, a transform, or a block that observes or changes calls.
        return eagerly(self.function, args, kwargs) if recording.program is None else self.function(*args, **kwargs)

    def expect(self, entry: Entry | None) -> None:
        """Let the next calls run an entry, if its conditions hold then."""
        self.last = entry
        self.ready = refuse if entry is None or entry.count < 0 or self.verify else self.trial(entry)

    def trial(self, entry: Entry) -> Callable[..., Any]:
        """Return the function that runs an entry on arguments, or returns REFUSED."""
        if entry.exchange is None:
            return entry.attempt

        def run(*args: Any) -> Any:
            if not observed.idle or stack.transforms:
                return REFUSED
            with turn.lock:
                entry.fuse()
                if entry.exchange is None:
                    self.expect(entry)
                return entry.attempt(*args)

        return run

    def look_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program for the kind of the arguments, or record it; the first call of a kind runs eagerly."""
        leaves, tree = flatten((args, kwargs))
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        for x in tensors:
            if x.__class__ not in CONCRETE:
                return eagerly(self.function, args, kwargs)
        with turn.lock:
            modes = modes_now()
            if self.modes != modes:
                self.last, self.modes = None, modes
                if self.epoch != epoch[0]:
                    self.programs.clear()
                    self.by_value.clear()
                    self.epoch = epoch[0]
            floats = [x for x in leaves if type(x) is float]
            key = key_of(leaves, repr(tree), modes, symbolic=True)
            if key in self.by_value:
                floats, key = [], key_of(leaves, repr(tree), modes, symbolic=False)
            entries = self.programs.get(key)
            if entries is not None:
                picked = [*tensors, *floats]
                entry = next((e for e in reversed(entries) if e.outside.unchanged() and e.fits(*picked)), None)
                if entry is None:
                    if not sole_caller():
                        return eagerly(self.function, args, kwargs)
                    try:
                        with collector_paused(keeps=True):  # as a recording does
                            entry = entry_of(Recording(self.function, args, kwargs, bool(floats)), self.fuse)
                    except Exception:
                        if not floats:
                            raise
                        # The function reads the value of a float, so each value is a separate kind.
                        self.by_value.add(key)
                        return self.look_up(args, kwargs)
                    if entries:
                        causes = [*entries[-1].outside.changed(), "a layout, a gradient or a hook of a tensor outside"]
                        self.again = [*self.again[1 - MANY :], causes[0]]
                    entries[:] = [*entries[1 - MANY :], entry]
                if entry.exchange is not None:
                    entry.fuse()
                self.expect(entry)
                return self.run(entry, picked, args, kwargs) if self.verify else entry.call(*picked)
            self.first(key)
        return eagerly(self.function, args, kwargs)

    def run(self, entry: Entry, picked: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a program, and compare every nth run with the function."""
        self.calls += 1
        if (self.calls - 1) % self.verify:
            return entry.call(*picked)
        return verified(entry, self.function, picked, args, kwargs)

    def first(self, key: Any) -> None:
        """Record the first call with arguments of a kind."""
        bounded(self.programs, key, [], LIMIT)
        if len(self.programs) > MANY and not self.warned:
            self.warned = True
            keys = list(self.programs)
            changing = [part for part, other in zip(keys[-1], keys[-2]) if part != other] or ["their number"]
            warn(
                f"jit: {self.__name__} has been called with {len(keys)} kinds of arguments, and each needs a program; "
                f"the last two differ in {changing[0]!r}. Pass numbers that change as 0-d tensors, and tensors in "
                f"few shapes"
            )

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """Return the function for an object whose method it is; it has its own programs."""
        if owner is None:
            return self
        held = self.methods.get(id(owner))
        if held is None or held[0] is not owner:
            if len(self.methods) >= LIMIT:
                self.methods.clear()
            held = self.methods[id(owner)] = owner, Jitted(self.function.__get__(owner, kind), self.fuse, self.verify)
        return held[1]

    def kinds(self) -> list[tuple[str, Entry]]:
        """Return the programs, each with the dtypes and shapes of its arguments, and which of them share memory."""
        entries = [entry for entries in self.programs.values() for entry in entries]
        made = [entry.recording for entry in entries]
        kinds = [shown_kind(each.arguments, [slot for slot, _ in each.argument_slots]) for each in made]
        return list(zip(kinds, entries))

    def report(self) -> str:
        """Return the size of each program as text.

        Returns: For each program, the text has a line with its arguments, its kernels and its memory, and a line for
        each reason why some launches share no loop.  Last, there is a line for each program that was recorded because
        no earlier program could run any more for arguments of the same kind, with the cause.
        """
        lines = [f"{kind}: {entry.report()}" for kind, entry in self.kinds()]
        return "\n".join([*lines, *[f"recorded again after a change of {each}" for each in self.again]]) or NO_PROGRAM

    def memory(self) -> str:
        """Return the position of each temporary in the memory that a call allocates, as text.

        Returns: One line per temporary: its offset and its size in bytes, a bar of the launches that use it, and the
        line of the function that made it.
        """
        tapes = [(kind + name, tape) for kind, entry in self.kinds() for name, tape in entry.tapes()]
        return report_of(tapes) or NO_PROGRAM

    def source(self) -> str:
        """Return the program that ran last as a Python module of plain loops.

        Returns: Module with a function `run` of NumPy arrays.  `run` computes the same numbers as the program, except
        for rounding errors from another order of sums.  A comment above each loop shows the line of the jitted
        function.  If the results have a graph, the module also has a function `back`, which computes the gradients that
        a backward pass from all results computes.

        Convolutions, random numbers, 16-bit floats and other requests without loops are calls of `launch`; steps of
        optimizers are calls of `host`.  Pass `launch=step.launch` and `host=step.host` to such a `run`, where `step` is
        the jitted function.  A module without such calls does not import minigrad.
        """
        from minigrad.jitting.module import module

        return module(self.last) if self.last is not None else f"# {NO_PROGRAM}\n"

    def graph(self) -> Any:
        """Draw the program that ran last: one box per launch, and an arrow for each memory between two launches.

        Returns (Graph): Picture of `mg.viz.program`, which can be saved to a file: `step.graph().save("step.html")`.
        """
        return defined_above("viz.program", "program")(self)

    def launch(self, k: int, *arrays: Any) -> None:
        """Run one launch on NumPy arrays, as the text of `source` calls it.

        k: Position of the launch in the program that ran last.
        arrays (ndarray): Arrays of the shapes that the text of `source` shows; the results are written into these
        arrays.
        """
        from minigrad.jitting.replay import launch

        launch(self.recorded(), k, arrays)

    def host(self, k: int, *arrays: Any) -> None:
        """Run one step of an optimizer or of a schedule, as the text of `source` calls it.

        k: Position of the step in the program that ran last.
        arrays (ndarray): Gradients, and the memory of the outside tensors, which the step writes.

        The step changes the tensors of the program: before the step, they are set to the values of the arrays.
        """
        from minigrad.jitting.replay import host

        host(self.recorded(), k, arrays)

    def recorded(self) -> Entry:
        """Return the program that ran last.  Raises ArgumentError if there is none."""
        if self.last is None:
            raise ArgumentError(f"jit: {NO_PROGRAM}; call the function twice")
        return self.last

    def __repr__(self) -> str:
        count = sum(map(len, self.programs.values()))
        return f"<jit {self.__name__}: {count} program{'s' * (count != 1)}>"

    def __reduce__(self) -> Any:
        """Return what copies and pickles store: a function by its name, or the arguments of `jit`, without programs."""
        home = getattr(sys.modules.get(self.__module__), self.__name__, None)
        return self.__name__ if home is self else (type(self), (self.function, self.fuse, self.verify))


class JittedObject(Jitted):
    """A module, or another object that can be called, under `mg.jit`: it has the attributes of the object.

    Functions have the base class, because each read of an attribute costs more in a class with `__getattr__`.
    """

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of the object, so that a jitted module is a child of the module that it is assigned to."""
        return type(self.__dict__.get("function", self))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the object, such as `parameters` or `weight`.

        A method that returns the object itself, such as `eval`, returns this one instead.
        """
        if name.startswith("__") or "function" not in self.__dict__:
            raise AttributeError(name)
        function = self.function
        value = getattr(function, name)
        if getattr(value, "__self__", None) is not function:
            return value

        @functools.wraps(value)
        def method(*args: Any, **kwargs: Any) -> Any:
            result = value(*args, **kwargs)
            return self if result is function else result

        return method

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute that `__init__` defines here, and any other one of the object."""
        own = self.__dict__
        if name in own or "function" not in own:
            object.__setattr__(self, name, value)
        else:
            setattr(self.function, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete an attribute of the object."""
        delattr(self.function, name)


def refuse(*args: Any) -> Any:
    """Refuse a call: there is no program yet."""
    return REFUSED


def entry_of(recording: Recording, fuse: bool) -> Entry:
    """Return the entry of a recording."""
    if recording.split is None:
        return Entry(recording, fuse)
    return DifferentiableEntry(recording, fuse, lambda: turn.lock)


def jit(function: Callable[..., Any] | None = None, *, fuse: bool = True, verify: int = 0) -> Any:
    """Record a function once, and then run it as a list of launches without Python between them.

    The first call with arguments of a kind runs eagerly, the second is recorded, and later calls run the program.
    Arguments are of one kind if two conditions hold: tensors have equal shapes, strides, dtypes and devices, and all
    other arguments except floats have equal values.  Each result has the bits of eager mode.

    Parameters
    ----------
    function : callable, optional
        A function, a method or a module; `@mg.jit` decorates a function.  It may compute gradients, write tensors in
        place, draw random numbers, and call steps of optimizers and schedules.  Without `function`, a decorator is
        returned.
    fuse : bool, default True
        Whether elementwise launches that share memory become one loop.  A helper process compiles their kernels while
        the first calls run without them.
    verify : int, default 0
        If positive, the first run of a program and every nth run after it also run the function eagerly, from the same
        state, and compare all bits: of results, of tensors that the function can reach, and of gradients.

    Returns
    -------
    Jitted
        A function of the same arguments, with the attributes of `function`, such as those of a module.

    Raises
    ------
    ArgumentError
        If `function` cannot be called, `verify` is negative, or an argument is a NumPy array.
    RecordingError
        At the second call, if a program could not repeat the function.  Causes are: the function reads the value of a
        tensor, changes a number or a list, uses a tensor that cannot be found, or returns a view of a tensor that has a
        graph.

    Notes
    -----
    A tensor that is not an argument is found through the variables, attributes and containers that the function names.
    If such a name refers to another tensor or number at a later call, the function is recorded again.  Values that are
    written into the same tensors are used immediately.  Other effects, such as `print`, happen only while recording,
    and values from elsewhere, such as elements of NumPy arrays or a clock, are read only then.  In a transform, in
    another jitted function, and in autocast or debug mode, the function itself runs.

    Gradient: the function may compute gradients itself.  If gradients of its results are computed outside, each call
    records one node.  Second derivatives run the function once more, and raise GradientError if it draws random numbers
    or writes into tensors.

    Examples
    --------
    >>> w = mg.Var([1.0, 2.0])
    >>> @mg.jit
    ... def step(x):
    ...     w.grad = None
    ...     loss = (w * x).sum()
    ...     loss.backward()
    ...     with mg.no_grad():
    ...         w.sub_(w.grad * 0.5)
    ...     return loss
    >>> [step(mg.tensor([1.0, 1.0])).item() for _ in range(4)]
    [3.0, 2.0, 1.0, 0.0]
    """
    Number(0, whole=True, example=1).expect("jit", verify=verify)
    if function is None:
        return functools.partial(jit, fuse=fuse, verify=verify)
    if isinstance(function, Jitted):
        return function
    if not callable(function):
        raise ArgumentError(f"jit: expected a function, got {describe(function)}; decorate a function with @mg.jit")
    plain = isinstance(function, (FunctionType, MethodType, BuiltinFunctionType, functools.partial, type))
    return (Jitted if plain else JittedObject)(function, fuse, verify)


if not TYPE_CHECKING:  # a type checker reads the function
    jit = Advised(jit, "mg.jit", "write mg.jit(function) or @mg.jit, which records the kernels once and repeats them")
    # The marks with which scripts speak to PyTorch's compiler: they change nothing for its interpreter, nor here.
    jit.ignore = jit.unused = jit.export = jit.script_if_tracing = lambda function: function
    jit.is_scripting = jit.is_tracing = lambda: False

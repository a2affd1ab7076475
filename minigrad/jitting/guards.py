"""Guards: the functions that compare a call with the recording whose program would run.

`Outside` compares the variables and containers that the function reads; the functions here compare arguments and
tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minigrad.core.device import CPU, default_device
from minigrad.core.dtype import default_float
from minigrad.core.plans import epoch
from minigrad.errors import ArgumentError
from minigrad.jitting.moving import Moved, fixed_offset, stores_gradient
from minigrad.jitting.outside import PLAIN
from minigrad.jitting.turns import turn
from minigrad.jitting.writing import Lines, indented
from minigrad.runtime.changes import changes
from minigrad.runtime.observers import observed
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import stack

REFUSED = object()  # returned instead of a result if a program cannot run on the arguments of a call


def write_fits(program: Lines, numbers: list[str]) -> Callable[..., bool]:
    """Return the function that compares what `Outside` does not compare: layouts and gradients of outside tensors."""
    names = [f"x{k}" for k in range(len(program.recording.arguments))]
    return program.define("fits", [*names, *numbers], [f"return {' and '.join(tests_of_tensors(program)) or True}"])


def tests_of_tensors(program: Lines) -> list[str]:
    """Return the conditions of `fits` on the tensor arguments `x0`, `x1`, ... and on the outside tensors."""
    bound, made = program.bound, program.recording
    tests: list[str] = []
    bound["outside"] = set(made.storages) - made.own
    for k, x in enumerate(made.arguments):
        real, among = made.moved[id(x)], f"x{k}.storage in outside"
        bound[f"x{k}_layout"] = real.layout
        tests.append(f"not {among}" if real.storage in made.own else f"{among} and x{k}.layout is x{k}_layout")
    shapes: list[str] = []
    for k, moved in enumerate(made.moved.values()):
        shapes += tests_of_shape(program, moved, f"w{k}")
        tests += tests_of_gradient(program, moved, f"w{k}")
    if shapes:
        bound |= {"outside_now": made.outside, "changes": changes}
        again = f"(count := changes.memory) >= 0 and {' and '.join(shapes)} and outside_now.remember(count)"
        tests.append(f"(outside_now.memory == changes.memory or {again})")
    return tests


def names_of_arguments(program: Lines, args: tuple[Any, ...]) -> list[str]:
    """Return the names of arguments: `x0`, ... of tensors, `n0`, ... of floats that each call reads, `a2` of others."""
    names, tensors, floats = list[str](), itertools.count(), itertools.count()
    for k, x in enumerate(args):
        if isinstance(x, Tensor):
            names.append(f"x{next(tensors)}")
        else:
            names.append(f"n{next(floats)}" if type(x) is float and program.recording.symbolic else f"a{k}")
    return names


def conditions_of(program: Lines, args: tuple[Any, ...]) -> str:
    """Return the condition under which the program can run on arguments, none of which is nested.

    It compares the arguments, the modes, the variables and containers that the jitted function reads, and the outside
    tensors, all with their state at the recording.
    """
    names = names_of_arguments(program, args)
    tensors = [k for k, x in enumerate(args) if isinstance(x, Tensor)]
    tests = [
        *tests_of_arguments(program, args, tensors, names),
        *tests_of_modes(program.bound),
        "observed.idle and not stack.transforms",
        *program.recording.outside.tests(program.bound),
        *tests_of_tensors(program),
    ]
    return " and ".join(tests)


def write_attempt(
    program: Lines, names: list[str], condition: str, lines: list[str], locked: bool = True
) -> Callable[..., Any]:
    """Return a function of arguments that runs some lines if a condition holds, and returns REFUSED otherwise.

    One generated function is faster than several.  It takes any number of arguments: REFUSED in the place of a missing
    argument fits no program.
    locked: whether other threads wait until the lines have run.
    """
    program.bound |= {"REFUSED": REFUSED, "turn": turn, "observed": observed, "stack": stack}
    text = [
        "try:",
        f"    if more or not ({condition}): return REFUSED",
        "except (ValueError, LookupError): return REFUSED  # a variable has no value",
        *lines,
    ]
    text = ["with turn.lock:", *indented(text)] if locked else text
    return program.define("attempt", [*[f"{name}=REFUSED" for name in names], "*more"], text)


def tests_of_modes(bound: dict[str, Any]) -> list[str]:
    """Return the conditions that the modes are the present ones; `modes_now` would be a call.

    A change of the default dtype begins an epoch.
    """
    enabled, _, device, number = modes_now()
    bound |= {"is_recording": type(mode).enabled.fget, "mode": mode, "default_device": default_device}
    bound |= {"mode_device": device, "epoch": epoch}
    recording = "is_recording(mode)" if enabled else "not is_recording(mode)"
    return [recording, "default_device() is mode_device", f"epoch[0] == {number}"]


def modes_now() -> tuple[Any, ...]:
    """Return the settings on which a program depends: recording, default dtype and device, the epoch of settings."""
    return bool(mode.enabled), default_float(), default_device(), epoch[0]


def tests_of_arguments(program: Lines, args: tuple[Any, ...], tensors: list[int], names: list[str]) -> list[str]:
    """Return the conditions on the arguments, which have these names."""
    bound, made = program.bound, program.recording
    tests: list[str] = []
    for k, (name, x) in enumerate(zip(names, args, strict=True)):
        bound[f"a{k}_class"] = x.__class__
        tests.append(f"{name}.__class__ is a{k}_class")
        if type(x) is float and program.recording.symbolic:
            continue
        if not isinstance(x, Tensor):
            same = f"{name} == a{k}_value" + (f" and str({name}) == str(a{k}_value)" if x == 0.0 else "")
            tests.append(same if isinstance(x, PLAIN) else f"{name} is a{k}_value")
            bound[f"a{k}_value"] = x
            continue
        layout = made.moved[id(x)].layout
        bound |= {f"a{k}_layout": layout, f"a{k}_shape": layout.shape, f"a{k}_strides": layout.strides}
        bound |= {f"a{k}_dtype": x.dtype, f"a{k}_device": x.device}
        own = made.argument_slots[tensors.index(k)][1]
        like = f" or {name}.layout.shape == a{k}_shape and {name}.layout.strides == a{k}_strides" if own else ""
        if own and x.device is not CPU:
            bound |= {"fixed_offset": fixed_offset, f"a{k}_fixed": fixed_offset(layout, x.dtype, x.device)}
            like += f" and fixed_offset({name}.layout, a{k}_dtype, a{k}_device) == a{k}_fixed"
        tests.append(f"({name}.layout is a{k}_layout{like})")
        tests.append(f"{name}.dtype is a{k}_dtype and {name}.device is a{k}_device")
        tracked = x.requires_grad and not x.is_variable
        tests += [] if x.is_variable else [f"{name}.requires_grad is {tracked}"]
        tests += [f"{name}.storage {'is' if args[j].storage is x.storage else 'is not'} {names[j]}.storage"
                  for j in tensors if j < k]  # fmt: skip
    return tests


def tests_of_shape(program: Lines, moved: Moved, name: str) -> Iterator[str]:
    """Yield the conditions on an outside tensor, except arguments, that hold until `rebind` changes a tensor."""
    if program.holder(moved.x, name) == name:
        program.bound |= {f"{name}_layout": moved.layout, f"{name}_dtype": moved.storage.dtype}
        yield f"{name}.layout is {name}_layout and {name}.dtype is {name}_dtype"


def tests_of_gradient(program: Lines, moved: Moved, name: str) -> Iterator[str]:
    """Yield the conditions on the class and the gradient of an outside tensor; the class of an argument is known."""
    shown = program.holder(moved.x, name)
    if shown == name:
        program.bound[f"{name}_class"] = moved.x.__class__
        yield f"{name}.__class__ is {name}_class"
    if stores_gradient(moved.x):
        yield f"{shown}._grad is {'None' if moved.grad is None else 'not None'}"
    if moved.grad is not None:
        program.bound[f"{name}_grad"] = moved.grad.layout
        yield f"{shown}._grad.layout is {name}_grad"
        # Gradients that shared memory at the recording, or had that of another tensor, have one slot.
        memory = program.names.get(program.recording.storages[moved.grad.storage].buffer.number, "")
        memory = program.replaceable.get(memory, memory)
        if memory not in ("", f"{shown}._grad.storage"):
            yield f"{shown}._grad.storage is {memory}"


# ---- kinds of arguments ----------------------------------------------------------------------------------------------


def name_of(function: Any) -> str:
    """Return the name of a function in texts; for a module or another object, the name of its class."""
    return str(getattr(function, "__name__", type(function).__name__))


def shown_kind(tensors: Sequence[Tensor], slots: Sequence[int]) -> str:
    """Return the dtypes and shapes of the tensors among some arguments; tensors with equal slots share memory."""
    parts = []
    for k, x in enumerate(tensors):
        first = slots.index(slots[k])
        memory = "" if first == k else f" in the memory of tensor {first}"
        parts.append(f"tensor {first} again" if memory and x is tensors[first] else f"{describe(x)}{memory}")
    return f"({', '.join(parts)})"


def key_of(leaves: list[Any], tree: str, modes: tuple[Any, ...], symbolic: bool) -> tuple[Any, ...]:
    """Return the kind of the arguments of a call; calls with equal kinds can run the same program.

    The kind contains how the arguments are nested, the layouts, dtypes and devices of tensors, and other values.
    symbolic: whether the values of floats are left out.
    The offset of a tensor counts only as far as the alignment of its elements depends on it, unless the tensor shares
    memory with another argument.
    Raises ArgumentError for a NumPy array.
    """
    parts: list[Any] = [tree, *modes]
    storages = [x.storage for x in leaves if isinstance(x, Tensor)]
    for x in leaves:
        if isinstance(x, Tensor):
            layout = x.layout
            first = storages.index(x.storage)
            sole = storages.count(x.storage) == 1
            held = x._grad if stores_gradient(x) else None
            grad = None if held is None else held.layout
            parts.append((
                layout.shape, None if layout.is_contiguous else layout.strides, x.dtype, x.device, x.__class__,
                fixed_offset(layout, x.dtype, x.device) if sole else (first, layout.offset), grad, x.requires_grad,
            ))  # fmt: skip
        elif symbolic and type(x) is float:
            parts.append(float)
        elif isinstance(x, (*PLAIN, np.generic)):
            # A float is stored as text, because 0.0 and -0.0 are equal but of different kinds.
            parts.append((type(x), str(x) if isinstance(x, (float, np.generic)) else x))
        elif isinstance(x, np.ndarray):
            raise ArgumentError(
                f"jit: expected tensors, numbers and objects as arguments, got {describe(x)}, whose values a program "
                "would not read again; pass mg.from_numpy(array)"
            )
        else:
            parts.append((type(x), id(x)))
    return tuple(parts)

"""Guards: the functions that compare a call with the recording whose program would run.

`Outside` compares the variables and containers that the function reads; the functions here compare arguments and
tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minigrad.core.device import CPU
from minigrad.jitting.moving import Moved, fixed_offset
from minigrad.jitting.outside import PLAIN
from minigrad.jitting.writing import Lines
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.var import Var


def write_fits(program: Lines, numbers: list[str]) -> Callable[..., bool]:
    """Return the function that compares what `Outside` does not compare: layouts and gradients of outside tensors."""
    bound, made = program.bound, program.recording
    tests: list[str] = []
    bound["outside"] = set(made.storages) - made.own
    for k, x in enumerate(made.arguments):
        real, among = made.moved[id(x)], f"x{k}.storage in outside"
        bound[f"x{k}_layout"] = real.layout
        tests.append(f"not {among}" if real.storage in made.own else f"{among} and x{k}.layout is x{k}_layout")
    for k, moved_tensor in enumerate(made.moved.values()):
        tests += tests_of(program, moved_tensor, f"w{k}")
    names = [f"x{k}" for k in range(len(made.arguments))]
    return program.define("fits", [*names, *numbers], [f"return {' and '.join(tests) or True}"])


def write_matches(program: Lines, args: tuple[Any, ...]) -> Callable[..., bool]:
    """Return the function that compares the arguments of a call with those of the recording, if none is nested."""
    bound, made = program.bound, program.recording
    tests: list[str] = []
    tensors = [k for k, x in enumerate(args) if isinstance(x, Tensor)]
    for k, x in enumerate(args):
        bound[f"a{k}_class"] = x.__class__
        tests.append(f"a{k}.__class__ is a{k}_class")
        if type(x) is float and program.recording.symbolic:
            continue
        if not isinstance(x, Tensor):
            bound[f"a{k}"] = x
            same = f"a{k} == a{k}_value" + (f" and str(a{k}) == str(a{k}_value)" if x == 0.0 else "")
            tests.append(same if isinstance(x, PLAIN) else f"a{k} is a{k}_value")
            bound[f"a{k}_value"] = x
            continue
        layout = made.moved[id(x)].layout
        bound |= {f"a{k}_layout": layout, f"a{k}_shape": layout.shape, f"a{k}_strides": layout.strides}
        bound |= {f"a{k}_dtype": x.dtype, f"a{k}_device": x.device}
        own = made.argument_slots[tensors.index(k)][1]
        like = f" or a{k}.layout.shape == a{k}_shape and a{k}.layout.strides == a{k}_strides" if own else ""
        if own and x.device is not CPU:
            bound |= {"fixed_offset": fixed_offset, f"a{k}_fixed": fixed_offset(layout, x.dtype, x.device)}
            like += f" and fixed_offset(a{k}.layout, a{k}_dtype, a{k}_device) == a{k}_fixed"
        tests.append(f"(a{k}.layout is a{k}_layout{like})")
        tests.append(f"a{k}.dtype is a{k}_dtype and a{k}.device is a{k}_device")
        tracked = x.requires_grad and not x.is_variable
        tests.append("True" if x.is_variable else f"a{k}.requires_grad is {tracked}")
        tests += [f"a{k}.storage {'is' if args[j].storage is x.storage else 'is not'} a{j}.storage"
                  for j in tensors if j < k]  # fmt: skip
    return program.define("matches", [f"a{k}" for k in range(len(args))], [f"return {' and '.join(tests) or True}"])


def tests_of(program: Lines, moved: Moved, name: str) -> Iterator[str]:
    """Yield the conditions on one tensor, and on its gradient if it is a Var."""
    x = moved.x
    shown = program.holder(x, name)
    if shown == name:
        program.bound |= {f"{name}_layout": moved.layout, f"{name}_dtype": moved.storage.dtype}
        program.bound[f"{name}_class"] = x.__class__
        yield f"{name}.layout is {name}_layout and {name}.dtype is {name}_dtype"
        yield f"{name}.__class__ is {name}_class"
    if isinstance(x, Var):
        yield f"({shown}._grad is None) is {moved.grad is None}"
    if moved.grad is not None:
        program.bound[f"{name}_grad"] = moved.grad.layout
        yield f"{shown}._grad.layout is {name}_grad"

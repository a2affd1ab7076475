"""Steps that stand in something else: a checkpoint, hooks of saved values, a batch, a derivative, a Function, a hook.

A step is made as any other, then what it calls is wrapped.  What is around it changes nothing that quotients see, but
for `vmap` and derivatives, whose result is a function of its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from tests.programs.generator import KINDS, UNARY, WRITES, Call, Maker, Program


def checkpointed(lib: Any, call: Call, v: list[Any]) -> Any:
    """Run again for its gradient."""

    def part(*xs: Any) -> Any:
        return call(lib, list(xs))

    if hasattr(lib, "checkpoint"):
        return lib.checkpoint(part, *v)
    return importlib.import_module("torch.utils.checkpoint").checkpoint(part, *v, use_reentrant=False)


def packed(lib: Any, call: Call, v: list[Any]) -> Any:
    """What it saves is kept as a copy."""
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        return call(lib, v)


def twice_checkpointed(lib: Any, call: Call, v: list[Any]) -> Any:
    """A checkpoint in one that does more."""
    return checkpointed(lib, lambda lib, xs: checkpointed(lib, call, [x.sin() for x in xs]).sin(), v)


def batched(lib: Any, call: Call, v: list[Any]) -> Any:
    """A batch of two, of which the first operand has the batch as its last dim, and others the same for both."""
    first = lib.stack([v[0], v[0] * 0.5], -1)
    dims = (-1, *(None for _ in v[1:]))
    return lib.func.vmap(lambda *xs: call(lib, list(xs)), in_dims=dims)(first, *v[1:])[1]


def batch_of_one(lib: Any, call: Call, v: list[Any]) -> Any:
    """A batch of one, in the last operand."""
    dims = (*(None for _ in v[1:]), 0)
    return lib.func.vmap(lambda *xs: call(lib, list(xs)), in_dims=dims, out_dims=-1)(*v[:-1], v[-1].unsqueeze(0)).sum(
        -1
    )


def slope(lib: Any, call: Call, v: list[Any]) -> Any:
    """The gradient in the last operand."""
    return lib.func.grad(lambda *xs: call(lib, list(xs)).sin().sum(), argnums=len(v) - 1)(*v)


def tangent(lib: Any, call: Call, v: list[Any]) -> Any:
    """The derivative along the operands themselves."""
    return lib.func.jvp(lambda *xs: call(lib, list(xs)), tuple(v), tuple([x.cos() for x in v]))[1]


def hooked(lib: Any, call: Call, v: list[Any]) -> Any:
    """With a hook that gives the gradient in other memory, in another order."""
    y = call(lib, v) * 1.0
    if y.requires_grad and hasattr(y, "register_hook"):
        y.register_hook(lambda g: (g + g) * 0.5)
    return y


def by_function(lib: Any, call: Call, v: list[Any]) -> Any:
    """Squared, by a Function."""
    return squares(lib).apply(call(lib, v).tanh())


def squares(lib: Any) -> Any:
    """A Function of a library."""
    base = lib.Function if hasattr(lib, "Function") else lib.autograd.Function

    class Square(base):  # type: ignore[misc,valid-type]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            y = x * 1.0
            y *= x
            return y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x * 2.0

    return Square


def narrow(lib: Any, call: Call, v: list[Any]) -> Any:
    """Times truth values in other dtypes, which are the same everywhere near."""
    y = call(lib, v)
    return y * (y > -1e9).to(lib.float32).to(lib.float64) + y * (y > 1e9).to(lib.int64) * 0.5


AROUND: dict[str, Callable[[Any, Call, list[Any]], Any]] = {
    "checkpoint": checkpointed, "packed": packed, "checkpoint of checkpoint": twice_checkpointed, "vmap": batched,
    "vmap of one": batch_of_one, "grad": slope, "jvp": tangent, "hook": hooked, "Function": by_function,
    "casts": narrow,
}  # fmt: skip
UNWRITTEN = ("vmap", "vmap of one", "grad", "jvp")


class NestedMaker(Maker):
    """Makes one program, of which some steps are wrapped, some twice."""

    def add(self, words: str, operands: tuple[int, ...], call: Call, shape: tuple[int, ...]) -> None:
        for _ in range(2):
            if self.rng.integers(3):
                break
            name = str(self.rng.choice(list(AROUND)))
            if name in UNWRITTEN and self.kind in WRITES:  # values of transforms are not written
                continue
            words, call = f"{name}({words})", wrapped(name, call)
            if name == "grad":
                shape = self.shape(operands[-1])
        super().add(words, operands, call, shape)


def wrapped(name: str, call: Call) -> Call:
    """A call within something."""
    return lambda lib, v: AROUND[name](lib, call, v)


def program(seed: int, writes: bool = True, functions: Sequence[str] = UNARY) -> Program:
    """The nested program of a seed."""
    return NestedMaker(seed, 8, [*KINDS, *WRITES] if writes else KINDS, functions).program

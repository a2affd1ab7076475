"""The records that a declaration produces: what an op is, without how it runs.

`declare/` fills them, `runtime/dispatch.py` reads them on every call, `autodiff/pulling.py` runs their rules.
They hold no arrays and import no kernels, so the whole schema can be listed, documented and tested as data.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from minigrad.core.dtype import DType
from minigrad.core.forward import Jvp, Linear
from minigrad.core.later import Later
from minigrad.core.layout import Layout


class ScalarFn(Later):
    """A checked scalar function: the inner line of a loop.  Its text may be read at its first use.

    `node` is its parsed definition, `helpers` the other scalar functions that it calls, `where` its file and line,
    `cost` about how many additions one call is worth, `results` how many values it returns.
    """

    __slots__ = ("args", "cost", "helpers", "name", "node", "results", "where")

    def __init__(
        self, name: str, args: tuple[str, ...], node: ast.FunctionDef, helpers: dict[str, ScalarFn], where: str
    ) -> None:
        super().__init__()
        self.name, self.args, self.node, self.helpers, self.where = name, args, node, helpers, where
        self.cost = self.results = 1


class Spec:
    """The layout and dtype of one tensor, without data: all that a kernel needs before it runs."""

    __slots__ = ("dtype", "layout")

    def __init__(self, layout: Layout, dtype: DType) -> None:
        self.layout, self.dtype = layout, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    def __repr__(self) -> str:
        return f"{self.dtype}{self.layout.shape}"


class Rule:
    """One derivative rule: the function, the values that it reads saved, the static facts that it reads.

    gradients: the results whose gradients it takes first, by index.
    asked: of a joint rule: it receives which operands require a gradient, and returns None for the others.
    smooth: of a joint rule: the ops that it calls have derivatives of their own, so the definition is not needed.
    fused: the rule as one kernel, or fn again where it cannot be fused; None until `autodiff/fused.py` has tried.
    foreign: it was not written in this package, so its result is checked.
    """

    __slots__ = ("asked", "facts", "fn", "foreign", "fused", "gradients", "saves", "smooth")

    def __init__(
        self, fn: Callable[..., Any], saves: tuple[str, ...], facts: tuple[str, ...],
        gradients: tuple[int, ...] = (0,), asked: bool = False,
    ) -> None:  # fmt: skip
        self.fn, self.saves, self.facts, self.gradients, self.asked = fn, saves, facts, gradients, asked
        self.fused: Callable[..., Any] | None = None
        self.smooth = False
        self.foreign = not str(getattr(fn, "__module__", "")).startswith("minigrad.")


class Op(Later):
    """One declared op.

    kind: "elementwise", "reduction", "view", "kernel", or "composed" for an op that is made of others.
    operands, params: names of the tensors, and of the static arguments with their defaults.  writes: those written.
    rules: one Rule or None per operand; None means "not differentiable in this operand".
    roles: the roles of the parameters, by name, where the declaration has some: see `core/roles.py`.
    target: the parameter that names the device of the result, where there is one.
    outputs: names of the results, which rules use to read them; ("y",) for one.
    zeros: rules receive zeros for the gradient of a result that nothing used, instead of None.
    result: for several results, the named tuple that a call returns them in.
    saves[mask]: which values a call saves if the operands in the bit mask are tracked; -1 is the first result, -2 the
    second.
    picks[mask]: for each tracked operand that has a rule, its index and the indices of its rule's values among them;
    for a variadic op, those of its one rule.
    complete: every operand has a rule.  derived: the rules are made from the body; primal: the op whose rule it is.
    joint: one Rule that returns a tuple of all gradients, where that is cheaper than the rules one by one; or None.
    composed: the op as a function of others, or None; higher orders of a joint rule that is not smooth use it.
    reducer: of a reduction, the record of its declaration in `core/reducer.py`.
    linear: the operands in which it is linear, or None.
    fuse: of an elementwise op: its derivative rules may be traced, each into one kernel.
    jvp: the declared rule of forward mode, or None where `autodiff/forward.py` derives it.
    batch: how it takes a batch in front of its operands, a kind by name or a rule; None where the kind of the op
    determines it: see `autodiff/batching.py`.
    variadic: it takes any number of operands, and its one rule serves each.
    label: the name that a user called it by, for messages.
    where: file and line of the declaration.
    doc, scalar: the docstring; the body of an elementwise op, parsed.
    dtype_rule, shape_rule: from the operands' Specs to the result's dtype (of an elementwise op: compute dtype and
    result dtype, or one for each result) and shape; where shapes broadcast there is no shape rule.
    prepare: the body of another op: a view's returns a layout, a kernel's requests a launch from the backend.
    check: a function that checks the operands' values in each call, such as indices, or None.
    public: the function that users call.  plans: the plans of its calls so far, by key.
    signature: the public parameters, as `declare/signature.py` reads them; None for an op without a declaration.
    along: it has a parameter that is a dim, so a scalar is a row of one element to it.
    variants: the ops over some of its operands, where others are optional, by which of them are present.
    """

    __slots__ = (
        "along", "batch", "check", "complete", "composed", "derived", "doc", "dtype_rule", "fuse", "joint", "jvp",
        "kind", "label", "linear", "name", "operands", "outputs", "params", "picks", "plans", "prepare",
        "primal", "public", "reducer", "result", "roles", "rules", "saves", "scalar", "shape_rule", "signature",
        "target", "variadic", "variants", "where", "writes", "zeros",
    )  # fmt: skip

    def __init__(self, name: str, kind: str, operands: tuple[str, ...], params: dict[str, Any], where: str) -> None:
        super().__init__()
        self.name, self.kind, self.operands, self.params, self.where = name, kind, operands, params, where
        self.label = name
        self.doc = ""
        self.outputs: tuple[str, ...] = ("y",)
        self.zeros = False
        self.result: Callable[..., Any] | None = None
        self.roles: dict[str, Any] = {}
        self.target: str | None = None
        self.scalar: ScalarFn | None = None
        self.reducer: Any = None
        self.linear: Linear | None = None
        self.fuse = self.variadic = False
        self.jvp: Jvp | None = None
        self.batch: str | Callable[..., Any] | None = None
        self.dtype_rule: Callable[..., Any] | None = None
        self.shape_rule: Callable[..., Any] | None = None
        self.prepare: Callable[..., Any] | None = None
        self.public: Callable[..., Any] | None = None
        self.rules: tuple[Rule | None, ...] = (None,) * len(operands)
        self.saves: Any = ()
        self.picks: Any = ()
        self.complete = self.derived = False
        self.primal: Op | None = None
        self.joint: Rule | None = None
        self.composed: Callable[..., Any] | None = None
        self.plans: dict[Any, Any] = {}
        self.signature: Any = None
        self.along = False
        self.variants: dict[tuple[bool, ...], Op] = {}
        self.writes: tuple[str, ...] = ()

    def value_name(self, k: int) -> str:
        """Return the name by which rules read a value of `saves`: an operand's, or a result's."""
        return self.operands[k] if k >= 0 else self.outputs[-1 - k]

    @property
    def differentiable(self) -> bool:
        return self.complete or any(rule is not None for rule in self.rules)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join(self.operands)}) of {self.where}>"

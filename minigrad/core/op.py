"""The records that a declaration produces: they describe what an op is, not how it runs.

`declare/` fills them, `runtime/dispatch.py` reads them on every call, and `autodiff/pulling.py` runs their rules.  They
contain no arrays and import no kernels, so the whole schema can be listed, documented and tested as data.
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
    """Store a checked scalar function, which a loop calls for each element.  Its text may be read at the first use.

    `node` is its parsed definition, `helpers` the other scalar functions that it calls, and `where` its file and line.
    `cost` is the approximate cost of one call in additions, and `results` the number of values that it returns.
    """

    __slots__ = ("args", "cost", "helpers", "name", "node", "results", "where")

    def __init__(
        self, name: str, args: tuple[str, ...], node: ast.FunctionDef, helpers: dict[str, ScalarFn], where: str
    ) -> None:
        super().__init__()
        self.name, self.args, self.node, self.helpers, self.where = name, args, node, helpers, where
        self.cost = self.results = 1


class Spec:
    """The layout and dtype of one tensor, without data: all information that a kernel needs before it runs."""

    __slots__ = ("dtype", "layout")

    def __init__(self, layout: Layout, dtype: DType) -> None:
        self.layout, self.dtype = layout, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    def __repr__(self) -> str:
        return f"{self.dtype}{self.layout.shape}"


class Rule:
    """Store one VJP rule: the function, the saved values and the static facts that it reads.

    gradients: the indices of the results whose incoming gradients are its first arguments.
    asked: whether a joint rule receives which operands require a gradient, and returns None for the other operands.
    smooth: whether a joint rule calls only ops with derivatives, so that higher orders do not need the definition.
    fused: the rule as one kernel, or `fn` if it cannot be fused; None until `declare/fused.py` has tried.
    foreign: whether the function was defined outside this package, so that its result must be checked.
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
    """Store the declaration of one op.

    kind: "elementwise", "reduction", "view", "kernel", or "composed" for an op that is composed of other ops.
    operands, params: the names of the tensors, and the names of the static arguments with their defaults.
    writes: the names of the operands that the op writes into.
    rules: one Rule or None per operand; None means "not differentiable with respect to this operand".
    roles: the role of each parameter that has one in the declaration, by name: see `core/roles.py`.
    target: the parameter that names the device of the result, or None if there is no such parameter.
    outputs: the names by which rules read the results; ("y",) for one result.
    zeros: for the gradient of an unused result, rules receive zeros instead of None.
    result: for several results, the named tuple that a call returns them in.
    saves[mask]: the values that a call saves if the operands in the mask are tracked; -1 is the first result.
    picks[mask]: for each tracked operand that has a rule, its index and the indices of its rule's values in
        `saves[mask]`; for a variadic op, the indices for its one rule.
    complex: whether operands may be complex; an op with a kernel declares it, and others refuse by body or dtype rule.
    complete: every operand has a rule.  derived: the rules are made from the body.
    primal: for the op of a derivative rule, the op that the rule belongs to.
    joint: one Rule that returns a tuple of all gradients, if this is cheaper than the separate rules; or None.
    composed: the op as a function of other ops, or None; higher derivatives of a joint rule that is not smooth use it.
    reducer: for a reduction, the record of its declaration in `core/reducer.py`.
    linear: the operands in which the op is linear, or None.
    fuse: for an elementwise op: each of its derivative rules may be traced into one kernel.
    jvp: the declared JVP rule of forward mode, or None if `autodiff/forward.py` derives it.
    batch: how the op processes a leading batch dim: a kind by name, a rule, or None (see `autodiff/batching.py`).
    variadic: the op takes any number of operands, and its one rule is used for each of them.
    label: the name under which a user called the op, for messages.
    where: file and line of the declaration.
    doc, scalar: the docstring; the parsed body of an elementwise op.
    dtype_rule: returns the result's dtype; of an elementwise op, the compute dtype and one dtype per result.
    shape_rule: returns the result's shape; None if the shapes broadcast.
    prepare: the body of any other op: a view's returns a layout, a kernel's requests a launch from the backend.
    public: the function that users call.  plans: the plans of the calls so far, by key.
    signature: the public parameters, as `declare/signature.py` reads them; None for an op without a declaration.
    along: one parameter is a dim, so a scalar counts as a row of one element.
    variants: for an op with optional operands, an op for each combination of those that are present.
    """

    __slots__ = (
        "along", "batch", "complete", "complex", "composed", "derived", "doc", "dtype_rule", "fuse", "joint",
        "jvp", "kind", "label", "linear", "name", "operands", "outputs", "params", "picks", "plans", "prepare",
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
        self.complete, self.derived, self.complex = False, False, kind != "kernel"
        self.primal: Op | None = None
        self.joint: Rule | None = None
        self.composed: Callable[..., Any] | None = None
        self.plans: dict[Any, Any] = {}
        self.signature: Any = None
        self.along = False
        self.variants: dict[tuple[bool, ...], Op] = {}
        self.writes: tuple[str, ...] = ()

    def value_name(self, k: int) -> str:
        """Return the name by which rules read a value of `saves`: the name of an operand or of a result."""
        return self.operands[k] if k >= 0 else self.outputs[-1 - k]

    @property
    def differentiable(self) -> bool:
        return self.complete or any(rule is not None for rule in self.rules)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join(self.operands)}) of {self.where}>"

"""Checks of a backward pass, made before anything is computed or freed.

Each check raises an error that names the op, the value and the remedy.  `engine.py` runs the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from minigrad.core.roles import read_flag
from minigrad.errors import DeviceError, DTypeError, GradientError, ShapeError, StorageError
from minigrad.ops.casting import cast
from minigrad.ops.creation import fill, zeros
from minigrad.ops.shape.views import expand
from minigrad.runtime.dispatch import SCALAR, number
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.rebasing import WRITE, current
from minigrad.runtime.tensor import PLAIN, Tensor, describe, expect_tensors
from minigrad.runtime.writing import is_stale


class GradientEdge(NamedTuple):
    """A node of the graph and the index of one of its results: the target of the gradient of a tensor.

    node (Node): The node, as `tensor.grad_fn`; for a leaf, its AccumulateGrad.
    output_nr (int): The index of the result among those of the node, as `tensor.output_nr`.
    ownership_token (Any): Accepted as in PyTorch; it has no effect.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None

    def tensor(self) -> Tensor:
        """Return the leaf, or a tensor without elements of its own whose gradient flows to this edge."""
        target = self.node._node
        if not isinstance(target, BackpropOp):
            return target
        spec = target.plan.outs[self.output_nr]
        memory = expand(zeros((), dtype=spec.dtype, device=target.plan.device), shape=tuple(spec.shape))
        return Tensor(memory.storage, memory.layout, target if target.ids is None else Output(target, self.output_nr))


Node = Any  # BackpropOp, or a Var where a graph ends.  Their ids are unique, and are the keys of tables.


def node_of(x: Tensor) -> Node:
    """Return the target of a gradient of x: its BackpropOp, or the Var itself."""
    return x.op if x.op is not None else x


def end_of(y: Tensor) -> Node:
    """Return the start of a backward pass from y: the node of the current state of its memory, or the Var itself."""
    result = current(y)
    return y if result is None else result


def kept(name: str, retain_graph: bool | None, create_graph: bool) -> bool:
    """Return whether saved values are kept, by default the value of `create_graph`; `name` is for messages."""
    create = read_flag(create_graph, name, "create_graph")
    return create if retain_graph is None else read_flag(retain_graph, name, "retain_graph")


def check_seed(y: Tensor, gradient: Tensor | None, name: str) -> None:
    """Raise an error unless y can be differentiated and the gradient fits it."""
    if y.__class__ not in PLAIN:
        expect_tensors(name, y)
    if not y.dtype.is_inexact:
        raise GradientError(
            f"{name}: expected an output with a floating dtype, got {describe(y)}, which has no gradient; convert with "
            ".to(mg.float32) before the op"
        )
    if not y.requires_grad:
        raise GradientError(
            f"{name}: {describe(y)} does not require a gradient, because it was not computed from a Var, was computed "
            "under mg.no_grad(), or is a gradient computed without create_graph=True; call .requires_grad_() on the "
            "inputs before computing it"
        )
    if y.storage.version:
        current(y)
    if gradient is None:
        if y.dtype.is_complex:
            raise GradientError(
                f"{name}: expected a real output if no gradient is given, got {describe(y)}; compute a real loss, for "
                "example with .abs(), or pass a gradient of this shape and dtype"
            )
        return
    if gradient.__class__ not in PLAIN:
        expect_tensors(f"{name}: the gradient", gradient)
    if gradient.device is not y.device:
        raise DeviceError(
            f"{name}: the gradient must be on the device of the output {describe(y)}, {y.device}, got "
            f"{describe(gradient)} on {gradient.device}; move it with .to({str(y.device)!r})"
        )
    if gradient.layout is not y.layout and gradient.shape != y.shape:
        raise ShapeError(
            f"{name}: the gradient must have the shape of the output {describe(y)}, got {describe(gradient)}; pass "
            "mg.ones_like(output), for example"
        )
    if gradient.dtype.is_complex and not y.dtype.is_complex:
        raise DTypeError(
            f"{name}: the gradient of the real output {describe(y)} must be real, got {describe(gradient)}; pass "
            "gradient.real"
        )


def listed_tensors(tensors: Any) -> list[Any]:
    """Return a tensor, or any iterable of tensors, as a list; any other object becomes a list of one.

    A GradientEdge becomes its tensor.
    """
    single = isinstance(tensors, (Tensor, GradientEdge)) or not isinstance(tensors, Iterable)
    return [x.tensor() if x.__class__ is GradientEdge else x for x in ([tensors] if single else tensors)]


def chosen(name: str, inputs: Tensor | Sequence[Tensor]) -> list[Any]:
    """Return the tensors to compute gradients for.  Raise GradientError if one of them does not require a gradient."""
    xs = listed_tensors(inputs)
    expect_tensors(name, *xs)
    if not xs and name == "backward":
        raise GradientError(
            "backward: inputs must be None or contain at least one Var, got an empty sequence; omit inputs to compute "
            "the gradients of all Vars"
        )
    for x in xs:
        if not x.requires_grad:
            raise GradientError(
                f"{name}: inputs must require a gradient, got {describe(x)}, which does not; create it as a mg.Var"
            )
    return xs


def check_reached(inputs: Sequence[Tensor], nodes: list[BackpropOp], leaves: list[Tensor]) -> None:
    """Raise GradientError for an input that the backward pass would not reach."""
    reached = {key for node in nodes for key in node.ids or (node.id,)} | {leaf.id for leaf in leaves}
    for x in inputs:
        if node_of(x).id not in reached:
            raise GradientError(
                f"grad: the outputs must depend on every input, but they do not depend on {describe(x)}; pass "
                "allow_unused=True to get None for this input"
            )


def check(nodes: list[BackpropOp], wanted: set[int] | None, name: str) -> None:
    """Check the nodes of a backward pass before anything is computed or freed.

    Each saved value must exist and be unchanged, and each operand that a gradient must pass must have a rule.
    """
    for node in nodes:
        saved = node.saved
        if saved is None:
            raise GradientError(
                f"{name}: the graph of {describe_node(node)} was freed by an earlier backward; "
                f"pass retain_graph=True to the first backward call"
            )
        if len(saved) == 1:  # the most common case needs no loop
            if saved[0].storage.version != node.versions[0] and is_stale(saved[0], node.versions[0]):
                raise stale(node, name)
        elif saved:
            for value, version in zip(saved, node.versions):
                if value.storage.version != version and is_stale(value, version):
                    raise stale(node, name)
        if not node.op.complete:
            check_rules(node, wanted, name)


def stale(node: BackpropOp, name: str) -> StorageError:
    """Return the error for a saved value that was changed after it was saved."""
    for k, value, version in zip(node.op.saves[node.mask], node.saved or (), node.versions):
        if is_stale(value, version):
            named = "output" if node.ids is None else f"result {node.op.value_name(k)!r}"
            what = f"its {named}" if k < 0 else f"its operand {node.op.value_name(k)!r}"
            return StorageError(
                f"{name}: {describe_node(node)} saved {what}, {describe(value)}, at version {version}, but it was "
                f"changed in place since and is at version {value.storage.version}; clone() the tensor "
                "before the change"
            )
    raise AssertionError("nothing is stale")


def check_rules(node: BackpropOp, wanted: set[int] | None, name: str) -> None:
    """Raise GradientError for an operand without a rule that a gradient must pass."""
    op = node.op
    for k, parent in enumerate(node.parents):
        if op.rules[0 if op.variadic else k] is not None or parent is None:
            continue
        if wanted is None or parent.id in wanted:
            if op is WRITE:
                raise written(parent, name)
            if op.kind == "refusal":
                raise GradientError(f"{name}: {op.doc}", op=op.label)
            raise GradientError(
                f"{name}: {describe_node(node)} is not differentiable with respect to its operand {op.operands[k]!r}; "
                "pass x.detach() for this operand if no gradient is needed"
            )


def written(node: BackpropOp, name: str) -> GradientError:
    """Return the error for a result that was changed and then used as if it were the value that `node` computed."""
    while node.op.kind == "view":
        node = node.parents[0]
    return GradientError(
        f"{name}: the result of {describe_node(node)} was changed in place, under mg.no_grad() or through detach(), "
        f"before it was used, so no gradient is correct for its values; compute a new tensor instead, as in y = y + 1, "
        f"or detach() it if no gradient is intended"
    )


def describe_node(node: BackpropOp) -> str:
    """Describe a node for messages, with the user's line under `mg.debug()`."""
    return f"{node.name}{node.shape}" + (f" of {node.source}" if node.source else "")


def seed(y: Tensor, gradient: Tensor | None) -> Tensor:
    """Return the incoming gradient of y: ones, or the given tensor in the dtype of y."""
    if gradient is None:
        one = number(1.0, y.dtype, y.device)
        return one if y.layout is SCALAR else fill(one, shape=y.layout.shape)
    return gradient if gradient.dtype is y.dtype else cast(gradient, dtype=y.dtype)

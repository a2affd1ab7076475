"""Mutants of what transforms go by: rules of forward mode, claims of linearity, rules for a batch, roles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from minigrad.autodiff import batching
from minigrad.core import roles
from minigrad.core.forward import Jvp, Linear
from minigrad.core.op import Op
from minigrad.ops import batch_rules
from tests.mutation.checkers import batches, claims, forward, ours
from tests.mutation.mutant import Mutant, attribute, rewritten
from tests.mutation.trees import helpers, tree_of, variants

KINDS = {"along": ("elementwise", "reduction"), "product": ("elementwise", "along"), "merged": ("front",)}


def mutants() -> Iterator[Mutant]:
    """Those of every op that declares such a thing, and of the ways that are derived."""
    for op in ours().values():
        if op.jvp is not None:
            yield from of_jvp(op, op.jvp)
        if op.differentiable and not op.variadic and op.kind != "view":
            yield from of_linear(op)
        if callable(op.batch):
            yield from of_batch(op)
        elif op.batch is not None:
            for kind in KINDS.get(op.batch, ()):
                check = partial(batches, op.name)
                yield Mutant(
                    "batch",
                    op.name,
                    f"batching rule {kind} instead of {op.batch}",
                    partial(attribute, op, "batch", kind),
                    check,
                )
    yield from of_derived()


# ---- forward mode ---------------------------------------------------------------------------------------------------


def of_jvp(op: Op, rule: Jvp) -> Iterator[Mutant]:
    """A declared rule of forward mode: its code, and what it is given."""
    check = partial(forward, op.name)
    negative = Jvp(lambda *a, **b: minus(rule.fn(*a, **b)), rule.wants, rule.facts)
    negative.foreign = False
    yield Mutant("jvp", op.name, "negated", partial(attribute, op, "jvp", negative), check)
    for fn in (rule.fn, *helpers(rule.fn)):
        where = "" if fn is rule.fn else f"{fn.__name__}: "
        for what, make in variants(tree_of(fn)):
            yield Mutant("jvp", op.name, where + what, partial(rewritten, fn, make), check)
    for j, (kind, k) in enumerate(rule.wants):
        for other in others(op, kind, k):
            wants = tuple(other if i == j else want for i, want in enumerate(rule.wants))
            wrong = Jvp(rule.fn, wants, rule.facts)
            what = f"{said(op, *other)} passed instead of {said(op, kind, k)}"
            yield Mutant("jvp", op.name, what, partial(attribute, op, "jvp", wrong), check)


def minus(found: Any) -> Any:
    """What a rule gave, with the other sign."""
    if isinstance(found, tuple):
        return type(found)(*[minus(x) for x in found]) if hasattr(found, "_fields") else tuple(map(minus, found))
    return None if found is None else -found


def others(op: Op, kind: str, k: int) -> list[tuple[str, int]]:
    """What might stand for an argument of a jvp rule by mistake: the operand or the result for one another."""
    if kind == "tangent":
        return []
    if kind == "result":
        return [("value", j) for j in range(len(op.operands))]
    return [("result", 0)]


def said(op: Op, kind: str, k: int) -> str:
    return op.outputs[k] if kind == "result" else f"{'d' if kind == 'tangent' else ''}{op.operands[k]}"


def of_linear(op: Op) -> Iterator[Mutant]:
    """A claim of linearity that says too much or too little of what is linear together."""
    ruled = () if op.jvp is None else op.jvp.tangents  # where there is a rule, a claim is not asked
    names = tuple(name for k, name in enumerate(op.operands) if op.rules[k] is not None and k not in ruled)
    now = () if op.linear is None else op.linear.groups
    wrong: dict[tuple[tuple[str, ...], ...], str] = {}
    if len(names) > 1:
        wrong[(names,)] = "claimed linear in all operands together"
        wrong[tuple((name,) for name in names)] = "claimed linear in each operand alone"
    elif not now and names:
        wrong[(names,)] = "claimed linear"
    for k, group in enumerate(now):
        for name in group if len(group) > 1 else ():
            less = tuple(n for n in group if n != name)
            wrong[tuple(less if j == k else each for j, each in enumerate(now))] = f"{name} left out of {group}"
    for groups, what in wrong.items():
        if {frozenset(group) for group in groups} != {frozenset(group) for group in now}:
            broken = partial(attribute, op, "linear", Linear(groups))
            yield Mutant("linear", op.name, what, broken, partial(forward, op.name))


# ---- batches --------------------------------------------------------------------------------------------------------


def of_batch(op: Op) -> Iterator[Mutant]:
    """A declared rule for a batch, and the functions of its file that it calls."""
    check = partial(batches, op.name)
    for fn in (op.batch, *helpers(op.batch)):
        where = "" if fn is op.batch else f"{fn.__name__}: "
        for what, make in variants(tree_of(fn), statements=fn is not op.batch):
            yield Mutant("batch", op.name, where + what, partial(rewritten, fn, make), check)


SHIFTS = ("_shift_dim", "_shift_dims", "_shift_folded", "_shift_order", "_shift_shape", "_shift_index")
PIECES = ("stretched", "ranked", "batch_merged", "merged", "cut", "to_front", "batched_product", "into", "out_of",
          "batched_conv")  # fmt: skip
WAYS = ("by_broadcasting", "by_roles", "by_product", "by_moving", "by_merging", "by_rule")


def of_derived() -> Iterator[Mutant]:
    """How parameters change with a batch in front, and the pieces and ways that rules for batches are made of."""
    for module, names in ((roles, SHIFTS), (batch_rules, PIECES), (batching, WAYS)):
        for name in names:
            fn = getattr(module, name)
            for what, make in variants(tree_of(fn), statements=True):
                yield Mutant("batch", name, what, partial(rewritten, fn, make), every_batch)


def every_batch() -> None:
    """All of the tests of batches that a piece may matter to."""
    claims("tests.autodiff.test_batching", (
        "test_parameters_are_shifted_by_their_roles", "test_operands_of_other_ranks_broadcast_behind_the_batch",
        "test_a_product_of_batches", "test_a_batch_of_none", "test_a_batch_of_scalars_along_a_dim",
        "test_a_rule_is_given_batches_and_what_it_names",
    ))()  # fmt: skip
    for name in ("conv", "conv_input", "conv_weight", "max_pool", "cross_entropy", "layer_norm", "linear", "softmax",
                 "scaled_embedding", "matmul", "index_select", "stack"):  # fmt: skip
        batches(name)

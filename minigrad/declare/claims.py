"""Read and check the declarations for transforms: `linear=`, `jvp=` and `batch=`; make single rules of a joint one.

`autodiff/forward.py` uses `linear` and `jvp`, and `autodiff/batching.py` uses `batch`.  For an op without a
declaration, both modules derive the rule.  A name that the op does not have raises DeclarationError at import.  Tests
check that a claim is true.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.core.forward import Jvp, Linear
from minigrad.core.op import Op
from minigrad.core.parameters import KEYWORD, NAMED, parameters_of
from minigrad.errors import DeclarationError

FACTS = ("shape", "dtype", "layout", "device")
VARIADIC_FACTS = ("in_shapes", "position")  # facts of ops with any number of operands, which share one rule
BatchRule = str | Callable[..., Any] | None
BATCHES = ("elementwise", "reduction", "view", "product", "along", "front", "merged", "loop")


def claim(op: Op, linear: Linear | bool, jvp: Callable[..., Any] | None, batch: BatchRule) -> None:
    """Read the claims of a declaration, and store them in the record of the op."""
    op.linear = read_linear(op, linear)
    op.jvp = None if jvp is None else read_jvp(op, jvp)
    op.batch = read_batch(op, batch)


def read_linear(op: Op, linear: Linear | bool) -> Linear | None:
    """Return the claim as a Linear, or None for False.

    Raises DeclarationError for an unknown operand, for an operand that is named twice in a group, and for True if the
    op has several operands.
    """
    if linear is False:
        return None
    if linear is True:
        if len(op.operands) > 1:
            raise wrong(
                op,
                f"linear=True is ambiguous for the operands {', '.join(op.operands)}; write joint(...) with the names "
                "of operands in which the op is linear together, or each(...) with the operands of a product",
            )
        return Linear((op.operands,))
    if not isinstance(linear, Linear) or not linear.groups or not all(linear.groups):
        raise wrong(
            op,
            f"linear must be True, joint(...) or each(...) with names of operands, got {linear!r}; write "
            "linear=each('a', 'b'), for example",
        )
    for group in linear.groups:
        unknown = [name for name in group if name not in op.operands]
        if unknown:
            raise wrong(
                op,
                f"linear must contain names of operands ({', '.join(op.operands)}), got "
                f"{', '.join(map(repr, unknown))}; correct the name",
            )
        if len(set(group)) < len(group):
            raise wrong(op, f"linear contains an operand of {group} twice; name each operand once")
    return linear


def read_jvp(op: Op, fn: Callable[..., Any]) -> Jvp:
    """Read the parameter names of a JVP rule, and return the rule as a Jvp.

    The name of a positional parameter specifies its argument: `dx` is the tangent of the operand x, `x` is the value of
    the operand, and `y` is the result; for several results, each has its declared name.  Keyword-only names are
    parameters and static facts, as in VJP rules.
    """
    wants: list[tuple[str, int]] = []
    facts = []
    for parameter in parameters_of(fn):
        name = parameter.name
        if parameter.kind is NAMED:
            facts += [each for each in op.params if each not in facts]
            continue
        if parameter.kind is KEYWORD:
            if not is_fact(op, name):
                raise wrong(
                    op, f"the JVP rule uses {name!r}, which is neither a parameter nor a static fact; {known_facts(op)}"
                )
            facts.append(name)
            continue
        meanings = [
            *([("value", op.operands.index(name))] if name in op.operands else ()),
            *([("result", op.outputs.index(name))] if name in op.outputs else ()),
            *([("tangent", op.operands.index(name[1:]))] if name[:1] == "d" and name[1:] in op.operands else ()),
        ]
        if len(meanings) != 1:
            known = f"a tangent (d{', d'.join(op.operands)}), an operand or a result ({', '.join(op.outputs)})"
            what = "could be two things; rename the operand" if meanings else f"is none of {known}"
            raise wrong(op, f"the parameter {name!r} of the JVP rule {what}")
        wants += meanings
    rule = Jvp(fn, tuple(wants), tuple(facts))
    if not rule.tangents or op.variadic:
        raise wrong(
            op,
            "a JVP rule must receive the tangent of at least one operand by name; write `lambda dx, x: ...`, for "
            "example",
        )
    return rule


def read_batch(op: Op, batch: BatchRule) -> BatchRule:
    """Check the batching rule of an op: the name of a kind, or a function `(x, w, *, batch, params...)`.

    When a function is called, the batch is the first dim of every operand and has the size `batch`; it must be the
    first dim of the results as well.  If the function has a parameter `flags`, a tuple with one boolean per operand,
    only the operands whose flag is True have the batch.
    Raises DeclarationError for an unknown kind, or for a rule whose operands are not those of the op.
    """
    if batch is None or (isinstance(batch, str) and batch in BATCHES):
        return batch
    if not callable(batch):
        raise wrong(
            op,
            f"batch must be one of {', '.join(BATCHES)}, or a batching rule, got {batch!r}; omit batch if there is no "
            "rule",
        )
    parameters = parameters_of(batch)
    operands = tuple(p.name for p in parameters if p.kind is not KEYWORD)
    others = [p.name for p in parameters if p.kind is KEYWORD]
    unknown = [name for name in others if name not in ("batch", "flags", *op.params)]
    if operands != op.operands or unknown:
        raise wrong(
            op,
            f"the batching rule must have the positional parameters ({', '.join(op.operands)}) and as keywords any of "
            f"`batch`, `flags` and the parameters, got ({', '.join(operands)}) and "
            f"{', '.join(others) or 'no keywords'}; rename the parameters of the rule",
        )
    return batch


def is_fact(op: Op, name: str) -> bool:
    """Return whether a rule may have this keyword-only name: a parameter, or a static fact of an operand or result."""
    owner, _, what = name.rpartition("_")
    static = name in VARIADIC_FACTS or (what in FACTS and owner in ("in", *op.outputs, *op.operands))
    return name in op.params or static


def known_facts(op: Op) -> str:
    """Return the remedy for an unknown keyword-only name of a rule, with all valid names."""
    owners = [*op.operands, *op.outputs, *(["in"] if "in" not in op.operands else [])]
    facts = [f"{owner}_{{{', '.join(FACTS)}}}" for owner in owners]
    return f"use one of {', '.join([*op.params, *facts, *VARIADIC_FACTS])}"


def wrong(op: Op, what: str) -> DeclarationError:
    """Return the DeclarationError for an invalid claim, with the position and the name of the op."""
    return DeclarationError(f"{op.where}: {op.name}: {what}", op=op.name)


def single_rules(joint: Callable[..., Any], count: int) -> tuple[Callable[..., Any], ...]:
    """Return the VJP rules of single operands that call a joint rule with `asked`; they save what it reads.

    count: the number of operands.
    """

    def single(k: int) -> Callable[..., Any]:
        asked = tuple([j == k for j in range(count)])

        def rule(*values: Any, **facts: Any) -> Any:
            return joint(*values, asked=asked, **facts)[k]

        rule.declared_parameters = [p for p in parameters_of(joint) if p.name != "asked"]  # type: ignore[attr-defined]
        rule.__module__, rule.joint = joint.__module__, joint  # type: ignore[attr-defined]
        return rule

    return tuple([single(k) for k in range(count)])

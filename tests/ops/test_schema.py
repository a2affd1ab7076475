"""The schema is complete: every declared op has a row, a docstring, a rule or a reason."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections import Counter

import complex_ops
import pytest
from cases import over
from op_table import ROWS

import minigrad as mg
from minigrad.core.op import Op, ScalarFn
from minigrad.core.requests import Copy
from minigrad.errors import DeclarationError

OURS = {name: op for name, op in mg.schema.items() if "/minigrad/ops/" in op.where.replace("\\", "/")}


def missing(schema: dict[str, object]) -> set[str]:
    return set(schema) - {name for row in ROWS for name in (*row.ops, row.name.partition("-")[0])}


def test_every_declared_op_has_a_row() -> None:
    absent = sorted(missing(OURS) - complex_ops.NAMES)
    assert not absent, f"add a row to tests/op_table.py, or to a file of tests/op_rows/, for: {', '.join(absent)}"


def test_a_declaration_without_a_row_is_noticed() -> None:
    assert "unheard_of" in missing({**OURS, "unheard_of": None})


def test_every_row_names_ops_that_exist() -> None:
    assert {name for row in ROWS for name in row.ops} <= set(OURS)


def test_row_names_are_unique() -> None:
    twice = [name for name, count in Counter(row.name for row in ROWS).items() if count > 1]
    assert not twice, f"two rows have the name {twice[0]!r}; write a second row of an op as {twice[0] + '-suffix'!r}"


@over("name", sorted(name for name, op in OURS.items() if op.kind != "composed"))
def test_every_op_with_a_float_result_has_a_rule_for_some_operand(name: str) -> None:
    op = OURS[name]
    without = {
        "any", "all", "argmax", "argmin", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite",
        "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor",
        "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm", "signbit", "isposinf", "isneginf", "isreal",
        "argsort", "count", "permuted", "count_up", "draw", "tally", "locate", "unique", "attention_backward",
        "attention_kept", "joined_positions", "checked", "existing_classes", "ends", "occurrences", "insertions",
        "marked_classes", "binned", "all_equal", "tally_nonzero", "coordinates", "runs", "run_values", "same_number",
        "channel_gradients", "group_gradients", "lstm_step_backward", "gru_step_backward", "lstm_sequence_backward",
        "gru_sequence_backward", "ctc_label", "ctc_moves", "expect_no_phase",
    } | {name for row in ROWS if row.slope for name in row.ops}  # fmt: skip
    assert op.differentiable == (name not in without)
    assert op.doc and op.where


def test_a_bad_declaration_fails_at_once_with_file_and_line() -> None:
    from minigrad.declare.rules import promote

    with pytest.raises(DeclarationError, match=r"test_schema\.py:\d+: .*a For|a For.*test_schema"):

        @mg.elementwise(dtype=promote, vjp=(lambda g: g,))
        def looping(x):
            """Not a scalar function."""
            for _ in range(3):
                x = x + 1
            return x

    with pytest.raises(DeclarationError, match=r"math\.frexp is not one of the supported functions"):

        @mg.elementwise(dtype=promote, vjp=(lambda g: g,))
        def odd_call(x):
            """Not in the dialect."""
            return math.frexp(x)

    with pytest.raises(DeclarationError, match=r"2 operands .a, b.*, got 1 derivative"):

        @mg.elementwise(dtype=promote, vjp=(lambda g: g,))
        def one_rule_short(a, b):
            """A rule is missing."""
            return a + b

    with pytest.raises(
        DeclarationError, match="a derivative rule of wrong_name has the parameter 'z', which is neither"
    ):

        @mg.elementwise(dtype=promote, vjp=(lambda g, z: g * z,))
        def wrong_name(x):
            """The rule names what is not there."""
            return x + x


def test_a_decorator_in_a_wrong_form_shows_the_right_one() -> None:
    def body(x):
        """Return x."""
        return x

    forms = {
        "elementwise": "@mg.elementwise(dtype=mg.rules.to_float)", "composed": "@mg.composed()",
        "reduction": '@mg.reduction(dtype=mg.rules.widen, identity="zero", order="sum")',
        "kernel": "@mg.kernel(dtype=..., shape=..., vjp=None)",
    }  # fmt: skip
    for name, form in forms.items():
        with pytest.raises(DeclarationError, match=rf"^{name}: .*got function body; write {re.escape(form)} above"):
            getattr(mg, name)(body)
    with pytest.raises(DeclarationError, match=r"^elementwise: the decorator needs dtype=, got other options; write"):
        mg.elementwise(vjp=None)


def test_a_statement_that_bodies_cannot_contain_names_its_replacement() -> None:
    def branching(x):
        """Return |x|."""
        if x < 0:
            x = -x
        return x

    def ending(x):
        """Return |x|."""
        if x < 0:
            return -x
        else:
            return x

    def inverting(x):
        """Return ~x."""
        return ~x

    for body, advice in (
        (branching, "not an If in the scalar function branching; write `name = a if condition else b`"),
        (ending, "must return a value in the scalar function ending; write `return a if condition else b`"),
        (inverting, "a UnaryOp is outside the scalar dialect in the scalar function inverting; write `not c`"),
    ):
        with pytest.raises(DeclarationError, match=rf"test_schema\.py:\d+: .*{re.escape(advice)}"):
            mg.elementwise(dtype=mg.rules.promote)(body)


def test_an_operator_on_bits_in_a_body_of_floats_fails_with_file_line_and_remedy() -> None:
    with pytest.raises(DeclarationError, match=r"test_schema\.py:\d+: x \^ 2 is for integers, .*; write x \*\* 2"):

        @mg.elementwise(dtype=mg.rules.to_float)
        def squared(x):
            """Return what was meant to be x ** 2."""
            return x ^ 2

    @mg.elementwise(dtype=mg.rules.promote, method=False)
    def doubled(x):
        """Return 2 * x for integers."""
        return x << 1

    assert doubled(mg.tensor([3], device="reference")).tolist() == [6]
    with pytest.raises(DeclarationError, match=r"test_schema\.py:\d+: x << 1 is for integers, and doubled comp"):
        doubled(mg.tensor([3.0], device="reference"))


def test_a_joint_rule_wants_what_the_single_rules_save() -> None:
    from minigrad.declare.decorators import kernel
    from minigrad.declare.rules import floating, same_shape

    with pytest.raises(DeclarationError, match="joint rule of saving_more wants b, which no rule of an operand saves"):

        @kernel(dtype=floating, shape=same_shape, vjp=(lambda g, a: g * a, lambda g, a: g),
                joint=lambda g, a, b: (g * a, g * b))  # fmt: skip
        def saving_more(backend, out, a, b):
            """Its joint rule wants b, which nobody saves."""

    with pytest.raises(DeclarationError, match="joint rule of giving_more stands in for rules of all operands"):

        @kernel(dtype=floating, shape=same_shape, vjp=(lambda g: g, None), joint=lambda g: (g, g))
        def giving_more(backend, out, a, b):
            """Its joint rule has a gradient for b, which carries none."""


def test_a_users_op_of_our_name_does_not_replace_ours() -> None:
    x = mg.Var([1.0, 2.0, 3.0])

    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g: g,))
    def narrow(x):
        """Another narrow."""
        return x + x

    assert mg.schema["narrow"].kind == "view" and mg.schema[f"{__name__}.narrow"] is narrow.op
    assert x.narrow(0, 1, 2).backward()[x].tolist() == [0.0, 1.0, 1.0]


def test_a_dtype_rule_is_checked_at_the_declaration() -> None:
    with pytest.raises(DeclarationError, match=r"test_schema\.py:\d+: dtype of doubled must be .*, got 'promote'"):

        @mg.elementwise(dtype=mg.promote, vjp=(lambda g: g,))
        def doubled(x):
            """Twice x."""
            return x + x


def test_a_body_may_end_in_closing_brackets() -> None:
    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g: g * 2.0,))
    def spread_out(x):
        """Twice x, over many lines."""
        return (
            x
            + (
                x
            )
        )  # fmt: skip

    assert spread_out(mg.tensor([1.5], device="reference")).tolist() == [3.0]


def test_an_editor_shows_what_a_dim_a_shape_and_a_number_may_be():
    names = {"dim", "dims", "shape", "size", "value", "k", "n", "keepdim"}
    functions = [getattr(mg, name) for name in mg.__all__ if inspect.isfunction(getattr(mg, name))]
    bare = [
        f"{function.__name__}({parameter.name})"
        for function in functions
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name in names and parameter.annotation in ("Any", inspect.Parameter.empty)
    ]
    assert len(functions) > 150 and not bare


def test_a_rule_may_take_all_parameters_at_once() -> None:
    @mg.kernel(dtype=mg.rules.floating, shape=mg.rules.same_shape,
               vjp=(lambda g, **params: g * (params["factor"] + params["more"]),))  # fmt: skip
    def scaled_twice(backend, out, x: mg.Tensor, factor, *, more=1.0):
        """A copy whose gradient has both parameters."""
        return backend.prepare(Copy(), out, x)

    x = mg.Var([1.0, 2.0], device="reference")
    assert scaled_twice(x, 2.0).backward()[x].tolist() == [3.0, 3.0]
    assert scaled_twice(x, factor=2.0, more=5.0).backward()[x].tolist() == [7.0, 7.0]


def test_an_editor_shows_the_types_of_a_lane_and_what_every_function_returns():
    signatures = {name: inspect.signature(getattr(mg, name)) for name in mg.__all__ if hasattr(getattr(mg, name), "op")}
    assert [name for name, shown in signatures.items() if shown.return_annotation is shown.empty] == []
    shown = {name: {p.name: p.annotation for p in s.parameters.values()} for name, s in signatures.items()}
    assert shown["elu"]["input"] == "Tensor" and shown["elu"]["alpha"] == "Tensor | float"
    assert shown["gelu"]["approximate"] == "str" and shown["elu"]["inplace"] == shown["sort"]["stable"] == "bool"
    assert shown["exp"]["out"] == shown["sum"]["out"] == "Tensor | None"
    assert shown["argmax"]["dim"] == "int | Sequence[int] | None" and shown["max"]["dim"] == "int | Tensor | None"


def test_what_is_left_to_its_first_use_can_be_made():
    left = [(op, part) for op in mg.schema.values() for part in tuple(op.later)]
    ours = [vars(module) for name, module in sys.modules.items() if name.startswith("minigrad.")]
    values = [value for names in ours for value in names.values()]
    functions = [each for each in [*values, *[op.scalar for op in mg.schema.values()]] if isinstance(each, ScalarFn)]
    functions += [helper for each in functions for helper in each.helpers.values()]
    left += [(each, part) for each in functions for part in tuple(each.later)]
    assert any(part == "node" for _, part in left) and any(part == "rules" for _, part in left)
    assert any(part == "operands" for _, part in left)
    bare = Op("", "", (), {}, "")  # some parts of it are None
    for record, part in left:
        assert getattr(record, part) is not None or getattr(bare, part, ...) is None
    for each in functions:
        assert each.node.body and each.cost > 0
        assert each.args == tuple([a.arg for a in (*each.node.args.posonlyargs, *each.node.args.args)]), each.where
    assert all(op.scalar is not None for op in mg.schema.values() if op.kind == "elementwise")

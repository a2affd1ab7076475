"""Batching rules: an op on stacked operands, with shifted parameters, equals the stack of single calls.

Every call that the rows of the op table make on `reference`, with each operand batched and with all of them.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import complex_ops
import numpy as np
import pytest
from cases import over
from op_calls import OpCall, calls, leaves, lying_behind, lying_otherwise
from op_rows.row import Row
from op_table import ROWS
from selection import over_rows

import minigrad as mg
from minigrad.autodiff import batching
from minigrad.autodiff.batching import KINDS, batch_kind, batched
from minigrad.core.op import Op
from minigrad.core.roles import WHOLE
from minigrad.declare.decorators import view
from minigrad.declare.variants import variant
from minigrad.ops import casting
from minigrad.ops.indexing.checks import Refusal
from minigrad.ops.linalg import products as linalg
from minigrad.ops.nn import softmax
from minigrad.ops.reduction import extremes
from minigrad.ops.reduction import sums as reduce
from minigrad.ops.shape import views
from minigrad.runtime.dispatch import apply

OURS = {
    name: op
    for name, op in mg.schema.items()
    if "/minigrad/ops/" in op.where.replace("\\", "/") and op.kind != "composed"
}
DERIVED = {name for name, op in OURS.items() if batch_kind(op) != "loop"}
# Ops whose rows are not recorded, since nothing in them carries a gradient.
APART: list[tuple[str, dict[str, Any]]] = [
    ("argmax", {"dim": 1, "keepdim": False}), ("argmin", {"dim": 0, "keepdim": True}),
    ("argsort", {"dim": 1, "descending": True}),
    ("any", {"dims": (0,), "keepdim": False}), ("all", {"dims": (0, 1), "keepdim": True}),
    ("count", {"dims": (1,), "keepdim": False}),
]  # fmt: skip
REFUSAL = Refusal(ValueError, "checked", "")
OF_INTEGERS: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("existing_classes", {"name": "a loss", "low": -1, "classes": 9}, [[[0, 3], [8, -1]]]),
    ("checked", {"low": 0, "high": 9, "ascending": True, "refusal": REFUSAL}, [[[0, 3, 8], [0, 0, 9]]]),
    ("marked_classes", {"classes": 4}, [[3, 0]]),
    ("insertions", {"after": True}, [[[0.5, 1.5, 2.5], [1.0, 1.0, 2.0]], [[1.0, 2.5], [0.0, 1.0]]]),
    ("all_equal", {"dims": (0,), "keepdim": False}, [[[1, 2], [3, 4]], [[1, 2], [3, 5]]]),
    ("ctc_label", {}, [[[3, 1], [2, 2]], [[0], [1]], [2, 1], 0]),
    ("ctc_moves", {}, [[[3, 1], [2, 2]], [[3, 0], [0, 2]], [[0], [1]], [2, 1]]),
]


@pytest.fixture(autouse=True)
def no_gradients() -> Any:
    with mg.no_grad():
        yield


def variants(x: Any) -> list[Any]:
    """Three operands of one kind: other values in the same domain, and the same places."""
    return [x * (1.0 + 0.04 * k) if x.dtype.is_float else x for k in range(3)]


def assert_batches(op: Op, params: dict[str, Any], primals: Sequence[Any], flags: Sequence[bool]) -> None:
    several = [variants(x) if flag else [x] * 3 for x, flag in zip(primals, flags, strict=True)]
    each = [apply(op, one, params) for one in zip(*several)]
    operands = [mg.stack(some) if flag else some[0] for some, flag in zip(several, flags)]
    assert_stacked(batched(op, params, operands, flags), each, op, flags)
    if all(flags):
        for lying in (lying_otherwise, lying_behind):
            otherwise = [lying(x) if x.dtype.is_float else x for x in operands]
            assert_stacked(batched(op, params, otherwise, flags), each, op, flags)


def assert_stacked(found: Any, each: Sequence[Any], op: Op, flags: Sequence[bool]) -> None:
    for k in range(len(op.outputs)):
        one_by_one = [y if op.result is None else y[k] for y in each]
        mine = found if op.result is None else found[k]
        assert mine.shape == (3, *one_by_one[0].shape) and mine.dtype is one_by_one[0].dtype, f"{op.name} {flags}"
        want = np.asarray([y.tolist() for y in one_by_one])
        np.testing.assert_allclose(np.asarray(mine.tolist()), want, rtol=1e-12, err_msg=f"{op.name} {flags}")


def patterns(count: int) -> list[tuple[bool, ...]]:
    """All operands, and of up to three each alone and each two."""
    if count > 3:
        return [(True,) * count, *[tuple(k == j for k in range(count)) for j in range(count)]]
    return [flags for flags in itertools.product((True, False), repeat=count) if any(flags)]


def plain_calls(row: Row) -> list[OpCall]:
    """The call of an elementwise row that records none."""
    op = mg.schema[row.ops[0]] if row.ops else None
    if row.smooth or op is None or op.kind != "elementwise":
        return []
    xs = [x.detach() for x in leaves(row)]
    if row.dtypes[-1] != "float64":
        xs = [x.to(mg.int64) for x in xs]
    return [OpCall(op, {}, tuple(xs), (), None)]


@over_rows(items=20)
def test_a_batch_is_the_stack_of_its_parts(row: Row) -> None:
    for call in [*calls(row), *plain_calls(row)]:
        if batch_kind(call.op) != "loop":
            for flags in patterns(len(call.primals)):
                assert_batches(call.op, call.params, call.primals, flags)


# Fourier transforms have complex operands: `ops/test_fourier.py` has their batches.
ALONG = [name for name, op in OURS.items() if op.batch == "along" and not op.variadic and name not in complex_ops.NAMES]


VECTORS: dict[str, Any] = {
    **{name: getattr(mg.linalg, name) for name in ("eig", "eigvalsh", "qr", "svd", "lu_factor", "matrix_rank", "inv")},
    "trace": lambda x: mg.trace(mg.stack([x, x, x])[None]), "linear": lambda x: mg.nn.functional.linear(x, x, x[None]),
    "fill_": lambda x: x.clone().fill_(x), "matmul": lambda x: x @ x[0],
}  # fmt: skip


@over("name", VECTORS)
def test_samples_are_checked_as_without_a_batch(name: str) -> None:
    x = mg.rand(3, 3, device="reference")
    for call in (lambda: VECTORS[name](x[0]), lambda: mg.func.vmap(VECTORS[name])(x)):
        with pytest.raises(mg.ShapeError):
            call()


@over("name", ALONG)
def test_a_batch_of_scalars_along_a_dim(name: str) -> None:
    op = mg.schema[name]
    found = [call.params for row in ROWS if name in row.ops for call in calls(row) if call.op is op]
    params = {**(found[0] if found else dict(APART)[name]), "dim": 0}
    if "k" in params:
        params["k"] = 1
    places = mg.zeros(3, dtype="int64", device="reference")
    xs = [places if operand == "index" else numbers(3) + 0.5 + k for k, operand in enumerate(op.operands)]
    ys = batched(op, params, xs, [True] * len(xs))
    rows = [apply(op, tuple([x[k : k + 1] for x in xs]), params) for k in range(3)]
    for k in range(len(op.outputs)):
        pick = lambda y, k=k: y if op.result is None else y[k]
        assert pick(ys).tolist() == [pick(row).item() for row in rows], "a scalar is a row of one"


def test_the_mean_of_no_row_that_counts_is_that_of_a_batch_too() -> None:
    target, params = mg.tensor(1, device="reference"), {"ignore": 1, "reduction": "mean"}
    assert_batches(mg.schema["cross_entropy"], params, (numbers(3), target), (True, True))
    losses = variant(mg.schema["minus_named"], (True, True, False))
    assert_batches(losses, params | {"dim": 0}, (numbers(3), target), (True, True))
    weighted = (numbers(3), target, numbers(3) + 3.0)
    assert_batches(mg.schema["minus_named"], params | {"dim": 0}, weighted, (True, True, False))


@pytest.mark.parametrize(("name", "params"), APART, ids=[name for name, _ in APART])
def test_a_batch_of_what_gives_places_and_truths(name: str, params: dict[str, Any]) -> None:
    x = mg.tensor([[0.5, 0.0, -1.0], [2.0, 0.0, 3.0]], dtype="float64", device="reference")
    assert_batches(mg.schema[name], params, (x,), (True,))


def test_each_table_of_a_batch_learns_its_own_shares() -> None:
    index = mg.tensor([0, 2, 0, 1], device="reference")
    shares = numbers(2, 4)
    x = mg.Var(numbers(2, 3, 1))
    with mg.enable_grad():
        y = batched(mg.schema["embedding"], {}, [x, index, shares], [True, False, True]).sum()
    assert mg.grad(y, x).reshape(2, 3).tolist() == [[2.0, 3.0, 1.0], [10.0, 7.0, 5.0]]


@pytest.mark.parametrize(("name", "params", "operands"), OF_INTEGERS, ids=[name for name, _, _ in OF_INTEGERS])
def test_a_batch_of_searches_and_checks(name: str, params: dict[str, Any], operands: Sequence[Any]) -> None:
    primals = [mg.tensor(x, device="reference") for x in operands]
    for flags in patterns(len(primals)):
        assert_batches(mg.schema[name], params, primals, flags)


def test_every_op_that_needs_no_loop_is_tried() -> None:
    tried = {call.op.name for row in ROWS for call in [*calls(row), *plain_calls(row)]}
    assert DERIVED - tried - {name for name, *_ in (*APART, *OF_INTEGERS)} - complex_ops.NAMES == set()


def test_every_op_has_a_kind() -> None:
    kinds = {name: batch_kind(op) for name, op in OURS.items()}
    assert set(kinds.values()) == set(KINDS) - {"function"}
    for name, op in OURS.items():
        if op.kind in ("elementwise", "reduction"):
            assert kinds[name] == op.kind
    assert {name for name, op in OURS.items() if op.kind == "view" and kinds[name] != "view"} == {
        "view", "expand", "as_strided", "spanned", "as_real", "as_complex", "unfold",
    }  # fmt: skip
    assert kinds["as_strided"] == "rule"
    assert kinds["matmul"] == "product" and kinds["softmax"] == "along" and kinds["cast"] == "elementwise"
    assert kinds["conv"] == kinds["cross_entropy"] == "rule"
    # What draws, counts or looks at values is none of a batch's, and values of transforms never reach the blocks of
    # attention, the kernels of pairs or the positions of several indices: nothing else needs a loop.
    assert {name for name, kind in kinds.items() if kind == "loop"} == {
        "permuted", "occurrences", "binned", "tally_nonzero", "coordinates", "runs", "run_values", "ends",
        "margin_losses", "margin_gradients",
        "count_up", "draw", "tally", "locate", "unique", "attention", "attention_backward", "attention_kept",
        "channel_gradients", "lstm_step_backward", "gru_step_backward", "lstm_sequence_backward",
        "gru_sequence_backward", "pair_distances", "pair_gradients", "row_distances", "row_gradients",
        "joined_positions", "spanned", "expect_no_phase",
    }  # fmt: skip


# ---- parameters that say where from the end, ranks that differ, scalars, batches of none ----------------------------


def numbers(*shape: int) -> Any:
    return mg.arange(int(np.prod(shape)), dtype="float64", device="reference").reshape(shape)


VIEWS: list[tuple[Any, tuple[int, ...], dict[str, Any]]] = [
    (views.permute, (2, 3, 4), {"dims": (-1, 0, -2)}),
    (views.transpose, (2, 3, 4), {"dim0": -1, "dim1": 0}),
    (views.squeeze, (1, 3, 1), {"dim": None}),
    (views.squeeze, (1, 3, 1), {"dim": -1}),
    (views.squeeze, (1, 3, 1), {"dim": (0, 1)}),
    (views.unsqueeze, (2, 3), {"dim": -1}),
    (views.unsqueeze, (2, 3), {"dim": -3}),
    (views.unsqueeze, (2, 3), {"dim": 2}),
    (views.as_view, (2, 3), {"shape": (3, -1)}),
    (views.as_view, (2, 3), {"shape": (-1,)}),
    (views.flip, (2, 3), {"dims": None}),
    (views.flip, (2, 3), {"dims": -1}),
    (views.expand, (3, 1), {"shape": (2, -1, 4)}),
    (views.expand, (), {"shape": (2, 3)}),
    (views.stretch, (2, 4), {"dims": (1,), "shape": (2, 3, 4)}),
    (views.stretch, (), {"dims": (0, 1), "shape": (2, 3)}),
    (views.narrow, (2, 5), {"dim": -1, "start": 1, "length": 3}),
    (views.select, (2, 5), {"dim": -2, "index": -1}),
    (views.basic_index, (2, 5), {"index": (WHOLE, (None, None, -2))}),
    (views.basic_index, (2, 5), {"index": (-1, None, (1, 3, None))}),
    (views.basic_index, (), {"index": (None,)}),
    (views.diagonal, (3, 2, 4), {"offset": 1, "dim1": -1, "dim2": 0}),
    (views.unfold, (2, 5), {"dimension": -1, "size": 3, "step": 2}),
    (views.unfold, (), {"dimension": 0, "size": 1, "step": 1}),
    (views.as_strided, (2, 3), {"size": (2, 2), "stride": (1, 2), "storage_offset": 1}),
    (reduce.sum, (2, 3), {"dims": -1, "keepdim": True}),
    (reduce.sum, (2, 3), {"dims": None, "keepdim": False}),
    (reduce.sum, (), {"dims": -1, "keepdim": False}),
    (reduce.amax, (2, 3), {"dims": (0, -1), "keepdim": False}),
    (softmax.softmax, (2, 3), {"dim": -1}),
    (softmax.softmax, (), {"dim": 0}),
    (extremes.max, (2, 3), {"dim": -2, "keepdim": False}),
    (casting.cast, (2, 3), {"dtype": mg.float32}),
]


@over(("fn", "shape", "params"), VIEWS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_parameters_are_shifted_by_their_roles(fn: Any, shape: tuple[int, ...], params: dict[str, Any]) -> None:
    each = [fn_of(fn, numbers(*shape) + float(k), params) for k in range(3)]
    found = batched(fn.op, params, [mg.stack([numbers(*shape) + float(k) for k in range(3)])], [True])
    for k in range(len(fn.op.outputs)):
        want = [(y if fn.op.result is None else y[k]).tolist() for y in each]
        assert (found if fn.op.result is None else found[k]).tolist() == want


def fn_of(fn: Any, x: Any, params: dict[str, Any]) -> Any:
    """The op of one operand, scalars as rows where it goes along a dim."""
    return fn(x, **params) if fn.op.kind == "kernel" else apply(fn.op, (x,), params)


@pytest.mark.parametrize(
    ("shapes", "flags"),
    [
        (((), (2, 3)), (True, False)),
        (((3,), (2, 1)), (True, True)),
        (((3,), (4, 2, 1)), (True, False)),
        (((4, 2, 1), (3,)), (False, True)),
    ],
    ids=str,
)
def test_operands_of_other_ranks_broadcast_behind_the_batch(shapes: Any, flags: tuple[bool, ...]) -> None:
    assert_batches(mg.schema["sub"], {}, [numbers(*shape) for shape in shapes], flags)


@over("flags", [(True, True), (True, False), (False, True)], ids=str)
@over(
    "shapes",
    [((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)),
     ((5, 1, 2, 3), (4, 3, 2)), ((2, 3), (5, 3, 2))],
    ids=str,
)  # fmt: skip
def test_a_product_of_batches(shapes: Any, flags: tuple[bool, ...]) -> None:
    assert_batches(linalg.matmul.op, {}, [numbers(*shape) for shape in shapes], flags)


def test_a_batch_of_none() -> None:
    none = numbers(0, 2, 3)
    assert batched(mg.exp.op, {}, [none], [True]).shape == (0, 2, 3)
    assert batched(mg.sum.op, {"dims": 0, "keepdim": False}, [none], [True]).shape == (0, 3)
    assert batched(views.as_view.op, {"shape": (3, -1)}, [none], [True]).shape == (0, 3, 2)
    assert batched(linalg.matmul.op, {}, [none, numbers(3, 4)], [True, False]).shape == (0, 2, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaled = {"alpha": 1, "beta": 1}
        y = batched(linalg.add_product.op, scaled, [none, numbers(2, 5), numbers(5, 3)], [True, False, False])
    assert y.shape == (0, 2, 3) and y.dtype is mg.float64


# ---- rules and loops ------------------------------------------------------------------------------------------------


def declared(batch: Any = None) -> Any:
    @mg.kernel(dtype=mg.rules.floating, shape=lambda op, x, w, *, shape: shape, vjp=(None, None), batch=batch)
    def filled(backend, out, x, w, *, shape):
        """The first number of x all over a shape."""
        scalar = mg.core.op.Spec(x.layout.select(0, 0).expand(out.shape), x.dtype)
        launch = backend.prepare(mg.requests.Copy(), out, scalar)
        return lambda x, w, y: launch(x, y)

    return filled


def test_a_rule_is_given_batches_and_what_it_names() -> None:
    def rule(x, w, *, shape, batch):
        assert x.shape == (2, 3) and w.shape == (2, 4), "the operand without a batch is stretched"
        return x[:, 0].reshape(batch, 1).expand(batch, *shape)

    op = declared(rule).op
    assert batch_kind(op) == "rule"
    assert batched(op, {"shape": (2,)}, [numbers(2, 3), numbers(4)], [True, False]).tolist() == [[0, 0], [3, 3]]


def test_a_loop_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_looped", set())
    op = declared().op
    assert batch_kind(op) == "loop"
    with pytest.warns(
        UserWarning,
        match="filled: vmap has no batching rule for this op, so it calls the op once per sample of the batch",
    ):
        y = batched(op, {"shape": (2,)}, [numbers(2, 3), numbers(4)], [True, False])
    assert y.tolist() == [[0, 0], [3, 3]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batched(op, {"shape": (2,)}, [numbers(2, 3), numbers(4)], [True, False])


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ("rows", r"filled: batch must be one of elementwise, .*, or a batching rule, got 'rows'"),
        (3, r"filled: batch must be one of elementwise, .*, got 3"),
        (
            lambda x: x,
            r"filled: the batching rule must have the positional parameters \(x, w\) .*, got \(x\) and no keywords",
        ),
        (lambda x, w, *, dim: x, r"filled: the batching rule must have .*, got \(x, w\) and dim"),
    ],
)
def test_a_bad_batch_rule_is_refused(batch: Any, message: str) -> None:
    with pytest.raises(mg.DeclarationError, match=message):
        declared(batch)


def test_a_view_without_roles_takes_the_loop() -> None:
    @view(vjp=(lambda g: g,))
    def turned(layout):
        """All dims in reverse order: of a batch too, so its kind alone does not tell."""
        return layout.permute(tuple(range(layout.ndim - 1, -1, -1)))

    assert batch_kind(turned.op) == "loop"

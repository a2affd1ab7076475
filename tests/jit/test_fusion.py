"""Fused programs: fewer launches and the bits of eager mode; what must not share a loop does not.

The reference device runs the fused functions without a compiler, so most programs run there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.jitting import exchange
from minigrad.kernels import store
from minigrad.nn import functional as F
from tests.programs import generator, written

X = np.linspace(-2.0, 3.0, 24, dtype=np.float32).reshape(4, 6)


def tensor(device: str, dtype: str = "float32", values: Any = X) -> mg.Tensor:
    return mg.tensor(values, dtype=dtype, device=device)


def fused(function: Callable[..., Any], *args: Any) -> tuple[Any, int]:
    """The result of the fused program, and how many launches it has."""
    step = mg.jit(function)
    for _ in range(3):
        result = step(*args)
    return result, len(step.last.tape.items)


def same_bits(function: Callable[..., Any], *args: Any) -> int:
    """Compare the results of a function with those of its program; return how many launches that has."""
    wanted = mg.func.trees.flatten(function(*args))[0]
    result, launches = fused(function, *args)
    for a, b in zip(wanted, mg.func.trees.flatten(result)[0], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype is b.dtype and a.detach().numpy().tobytes() == b.detach().numpy().tobytes()
    return launches


def chain(x: mg.Tensor) -> mg.Tensor:
    y = mg.maximum(x * 1.5 + 0.25, x)
    return mg.where((y > 0.5) & (x < 2.0), y * x, -y)


@pytest.mark.parametrize(("device", "dtype"), [("reference", "float32"), ("reference", "float64"), ("cpu", "float32")])
def test_a_chain_is_one_loop_but_for_the_logic_of_masks(device: str, dtype: str) -> None:
    assert same_bits(chain, tensor(device, dtype)) == 3  # two comparisons, `&` in bool, and the rest


def test_integers_and_several_results_share_a_loop() -> None:
    x = tensor("reference", "int64", np.arange(-6, 6))
    assert same_bits(lambda x: (x * 3 + 1, (x * 3) // 2), x) == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_where_eager_mode_stores(dtype: str) -> None:
    x = tensor("reference", dtype)
    assert same_bits(lambda x: (x * 1.1 + 0.3) * x - 0.7, x) == 4
    assert same_bits(lambda x: (x.float() * 1.1 + 0.3).to(x.dtype), x) == 1


def test_a_chain_and_its_gradient_need_no_memory_in_between() -> None:
    x = mg.Var(X, dtype="float32", device="reference")

    def step(x):
        y = mg.tanh(x * 1.5) + x
        return y.detach(), mg.grad(y.sum(), x)

    assert same_bits(step, x) == 1


def test_broadcast_operands_are_read_where_they_are() -> None:
    row, column = tensor("reference", values=X[0]), tensor("reference", values=X[:, :1])
    assert same_bits(lambda x, r, c: (x + r) * c - r, tensor("reference"), row, column) == 1


def test_transposed_operands_keep_their_own_loops() -> None:
    assert same_bits(lambda x, t: (x * 2.0 + t.T) * 3.0, tensor("reference"), tensor("reference", values=X.T)) >= 2


def test_writes_in_place_are_seen_by_later_lines_only() -> None:
    state = tensor("reference")

    def step(x):
        before = state * 2.0
        state.mul_(0.5).add_(x)
        return before + state, state * 3.0

    def run(function: Callable[..., Any]) -> list[bytes]:
        state.copy_(tensor("reference"))
        found = [[y.numpy().tobytes() for y in function(tensor("reference"))] for _ in range(4)]
        return [*[y for ys in found for y in ys], state.numpy().tobytes()]

    jitted = mg.jit(step)
    assert run(step) == run(jitted) and len(jitted.last.tape.items) == 1


def test_overlapping_views_do_not_share_a_loop() -> None:
    def step(x):
        y = x * 1.0
        y[1:] += y[:-1]
        y[:, 1:] *= y[:, :-1]
        return y * 2.0

    same_bits(step, tensor("reference"))


def test_results_that_nobody_reads_are_not_computed() -> None:
    def step(x):
        mg.cumsum(x * 2.0, 0)
        return x + 1.0

    assert same_bits(step, tensor("cpu")) == 1


def test_a_wrong_index_leaves_what_eager_mode_leaves() -> None:
    state, table = tensor("cpu", values=X[0]), tensor("cpu")

    def step(k):
        rows = F.embedding(k, table)
        state.add_(1.0)
        return rows

    good, bad = mg.tensor([1, 2], device="cpu"), mg.tensor([1, 7], device="cpu")
    jitted = mg.jit(step)
    for _ in range(3):
        jitted(good)
    before = state.tolist()
    with pytest.raises(IndexError, match="7"):
        jitted(bad)
    assert state.tolist() == before


def test_the_first_calls_run_without_the_kernels_that_are_compiled_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(mg.config.settings, "cache_dir", tmp_path)
    asked: list[Any] = []
    monkeypatch.setattr(exchange.ahead, "compile_texts", lambda texts: asked.extend(texts) or True)
    monkeypatch.setattr(exchange, "PAUSE", 0.0)
    x = tensor("cpu")
    wanted = (x * 7.5 - 2.5).numpy()
    step = mg.jit(lambda x: x * 7.5 - 2.5)
    for _ in range(4):
        assert np.array_equal(step(x).numpy(), wanted)
    if store.without_compiler():
        pytest.skip("kernels run as Python")
    assert len(asked) == 1 and "1 fused kernel not compiled yet" in step.report()
    store.load(asked[0][0], asked[0][2])
    assert np.array_equal(step(x).numpy(), wanted) and len(step.last.tape.items) == 1
    assert "2 launches fused into 1 loop" in step.report()


def test_without_fusion_each_launch_stays() -> None:
    step = mg.jit(fuse=False)(chain)
    for _ in range(3):
        step(tensor("reference"))
    assert len(step.last.tape.items) == 9


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_bits_of_eager_mode(seed: int, reference: None) -> None:
    made = written.program(seed, flips=False) if seed % 2 else generator.program(seed)
    leaves = [mg.Var(a) for a in made.leaves]

    def step(*leaves):
        total = made.run(mg, [x * 1.0 for x in leaves])
        return total.detach(), mg.grad(total, leaves, allow_unused=True)

    try:
        step(*leaves)
    except mg.StorageError:
        jitted = mg.jit(step)
        for _ in range(3):
            with pytest.raises(mg.StorageError):
                jitted(*leaves)
    else:
        same_bits(step, *leaves)


@pytest.mark.parametrize("outside", [True, False])
def test_storages_that_share_the_memory_of_an_array_are_noticed(outside: bool) -> None:
    def run(compiled: bool) -> list[Any]:
        array = np.arange(8, dtype=np.float32)
        kept = mg.from_numpy(array[1:6])

        def step(x, y):
            y = kept if outside else y
            a = x * 2.0
            y.copy_(a)
            return a, (x + 1.0) * y

        f = mg.jit(step) if compiled else step
        found = []
        for apart in (True, True, True, False, False):
            x = mg.from_numpy(np.ones(5, np.float32) if apart else array[0:5])
            found += [r.tolist() for r in f(x, mg.from_numpy(array[1:6]))]
        return [*found, array.tolist()]

    assert run(True) == run(False)


def reasons(function: Any, *args: Any) -> list[str]:
    """The lines of a report that name launches outside of loops."""
    step = mg.jit(function)
    step(*args)
    step(*args)
    return [line.strip().removeprefix("not fused: ") for line in step.report().splitlines()[1:]]


def test_a_report_names_launches_that_share_no_loop() -> None:
    x = mg.ones(2, 3)
    assert reasons(lambda x: x.exp().sin() * 2.0, x) == []
    product, alone, total = reasons(lambda x: (x @ x.T).exp().sum(), x)
    assert product.startswith("matrix product: no elementwise loop alone reads a result of 1048576 bytes or more")
    assert total == "sum: no elementwise loop computes an operand of at least 16384 bytes for it alone"
    assert alone.startswith("exp: no other elementwise operation")
    (shape,) = reasons(lambda x: (x.exp(), x[0].sin()), x)
    assert shape == "exp, sin: operations that share memory with it have another shape, dtype or device"
    (rounded,) = reasons(lambda x: x.exp().sin(), x.half())
    assert rounded == "exp, sin: its operand is rounded to the dtype of its memory"
    (layout,) = reasons(lambda x: x.exp() + x.exp().T, mg.ones(3, 3))
    assert layout == "add: a loop would write memory that it reads through another layout or dtype"
    between = reasons(lambda x: ((y := x.exp()) @ y) * y, mg.ones(3, 3))[0]
    assert between.startswith("exp, mul: another launch has to run between it and")


def test_a_report_without_fusion_names_no_reasons() -> None:
    step = mg.jit(lambda x: x.exp().sum(), fuse=False)
    for _ in range(2):
        step(mg.ones(3))
    assert "not fused" not in step.report()


@pytest.mark.parametrize("changed", ["mode", "dtype", "argument"])
def test_a_program_that_is_fused_later_has_the_conditions_of_its_recording(
    changed: str, monkeypatch: pytest.MonkeyPatch, reference: None
) -> None:
    fused = exchange.Exchange.fused
    monkeypatch.setattr(exchange.Exchange, "fused", lambda self: None)
    w, x, y = mg.Var([1.0, 2.0]), mg.tensor([3.0, 4.0]), mg.tensor([3.0, 4.0])
    f = mg.jit(lambda x: x * w * 2.0 + mg.ones(2))
    for _ in range(3):
        assert f(x).requires_grad and f(x).dtype is mg.float32
    monkeypatch.setattr(exchange.Exchange, "fused", fused)
    if changed == "mode":
        with mg.no_grad():
            assert not f(x).requires_grad  # the first call after the kernels are compiled
            assert not f(x).requires_grad
    elif changed == "dtype":
        mg.set_default_dtype(mg.float64)
        try:
            assert f(x).dtype is f(x).dtype is mg.float64
        finally:
            mg.set_default_dtype(mg.float32)
    else:
        x.requires_grad_()
        (g,) = mg.autograd.grad(f(x).sum(), [x])
        assert g.tolist() == [2.0, 4.0]
    for each in (y, y):
        assert f(each).requires_grad and f(each).dtype is mg.float32

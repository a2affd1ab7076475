"""Floats among the arguments of a recorded function: read by each call, unless the function needs their value."""

from __future__ import annotations

import math
import warnings

import pytest

import minigrad as mg
from minigrad.jitting.program import Program
from minigrad.jitting.symbols import Symbol

DTYPES = ("float16", "bfloat16", "float32", "float64", "int32", "bool")


def t(*values: float, dtype: str = "float32") -> mg.Tensor:
    return mg.tensor(values, dtype=dtype, device="reference")


def test_a_rate_that_changes_records_nothing_again() -> None:
    w = mg.Var([1.0, 2.0], device="reference")

    @mg.jit
    def step(x, rate, decay=0.5):
        w.grad = None
        loss = (w * x).sum()
        loss.backward()
        with mg.no_grad():
            w.sub_(w.grad * (rate / 3 + decay))
        return loss, rate * 2

    def run(function):
        w.set(mg.tensor([1.0, 2.0], device="reference"))
        results = [function(t(3, 4), 0.1 * 0.7**k) for k in range(12)]
        return [(loss.item(), double) for loss, double in results], w.tolist()

    assert run(step) == run(step.function)
    assert sum(map(len, step.programs.values())) == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_symbol_adapts_to_tensors_as_a_float_does(dtype: str) -> None:
    def f(x, p):
        return x + p, 2.0 - p * x, -p / 3 + x, mg.where(x > 0, x, p), x < p, p**2 - x, abs(p) // 0.3 + x, 1 % p * x

    jitted, x = mg.jit(f), t(0, 1, -3, dtype=dtype) if dtype != "bool" else t(0, 1, dtype=dtype)
    for p in (0.1, 0.7, 1e-5, 3.0, -2.5, math.inf):
        for a, b in zip(f(x, p), jitted(x, p), strict=True):
            assert a.dtype is b.dtype and a.numpy().tobytes() == b.numpy().tobytes()
    assert [len(each) for each in jitted.programs.values()] == [1]


def test_a_float_that_decides_is_part_of_the_kind() -> None:
    def f(x, p):
        return x * p if p > 0.5 else x + p

    jitted = mg.jit(f)
    for p in (0.1, 0.2, 0.6, 0.7, 0.6, 0.2):
        assert jitted(t(1, 2), p).tolist() == f(t(1, 2), p).tolist()


@pytest.mark.parametrize("function", [
    lambda x, p: x * math.sqrt(p), lambda x, p: x * float(f"{p:.3f}"), lambda x, p: x * int(p * 10),
    lambda x, p: x * {0.25: 1.0}.get(p, 2.0), lambda x, p: x * round(p, 1), lambda x, p: mg.nn.functional.celu(x, p),
    lambda x, p: mg.full((2,), p) * x, lambda x, p: mg.tensor([p, 1.0]) * x, lambda x, p: mg.clamp(x, p, 2.0),
], ids=range(9))  # fmt: skip
def test_the_value_of_a_float_is_never_that_of_an_earlier_call(function) -> None:
    before = mg.default_device()
    mg.set_default_device("reference")
    try:
        jitted = mg.jit(function)
        for p in (0.25, 0.25, 0.25, 0.5, 0.75, 0.75, 0.25):
            assert jitted(t(1, 2), p).tolist() == function(t(1, 2), p).tolist()
    finally:
        mg.set_default_device(before)


def test_integers_and_nested_floats() -> None:
    jitted = mg.jit(lambda x, n, options: x[:n] * options["scale"] + options["more"][0])
    for n, scale in ((1, 0.5), (2, 0.25), (2, 0.75), (1, 0.125), (2, -0.0)):
        assert jitted(t(1, 2), n, {"scale": scale, "more": [1.5]}).tolist() == [v * scale + 1.5 for v in (1, 2)[:n]]


def test_an_option_that_the_function_sets_is_refused_and_restored() -> None:
    w = mg.Var([1.0], device="reference")
    optimizer = mg.optim.SGD([w], lr=1.0)

    def step(x, rate):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    jitted = mg.jit(step)
    jitted(t(1), 1.0)
    optimizer.param_groups[0]["lr"] = 1.0
    jitted(t(1), 0.5)  # its value is needed, so this is the first call of a kind
    optimizer.param_groups[0]["lr"] = 1.0
    with pytest.raises(mg.RecordingError, match=r"optimizer\.param_groups\[0\]\['lr'\] from 1\.0 to 0\.5"):
        jitted(t(1), 0.5)
    assert optimizer.param_groups[0]["lr"] == 1.0


def test_what_a_refused_recording_has_changed_is_put_back() -> None:
    history: list[float] = []
    state = {"rate": 1.0}

    def step(x, rate):
        history.append(rate)
        state["rate"] = rate
        return x * rate

    jitted = mg.jit(step)
    jitted(t(1), 0.5)
    jitted(t(1), 0.25)  # its value is needed, so this is the first call of a kind
    state["rate"] = 1.0
    with pytest.raises(mg.RecordingError):
        jitted(t(1), 0.25)
    assert history == [0.5, 0.25] and state == {"rate": 1.0}


def test_a_symbol_shows_what_it_is_and_has_no_value() -> None:
    program = Program()
    symbol = Symbol(program, "n0") * 2 + 1
    assert repr(symbol) == "<a float that each call reads: m1>"
    assert program.arithmetic == ["m0 = n0 * 2", "m1 = m0 + 1"]
    for ask in (float, int, bool, hash, str, round, lambda s: s == 1.0, lambda s: s < 1.0, lambda s: f"{s}"):
        with pytest.raises(mg.RecordingError, match="value of a float argument"):
            ask(symbol)


def test_a_symbol_is_of_the_class_of_a_float() -> None:
    f = mg.jit(lambda x, rate: x * rate if isinstance(rate, float) else x)
    assert [f(t(1, 2), rate).tolist() for rate in (2.0, 2.0, 3.0)] == [[2, 4], [2, 4], [3, 6]]


@pytest.mark.parametrize("exponent", [0.5, 2.0, -1.0])
def test_a_power_uses_the_short_ops_of_eager_mode(exponent: float) -> None:
    x = t(-0.0, 1.5, 2.3)
    f = mg.jit(lambda x, p: x**p)
    f(x, 3.0), f(x, 3.0)
    for _ in range(3):
        assert f(x, exponent).numpy().tobytes() == (x**exponent).numpy().tobytes()


def test_arithmetic_on_a_float_may_raise_and_the_function_catches_it() -> None:
    def scaled(x, rate):
        try:
            return x * (1.0 / rate)
        except ZeroDivisionError:
            return x * 100.0

    f = mg.jit(scaled)
    assert [f(t(1), rate).item() for rate in (2.0, 2.0, 0.0, 4.0, 0.0)] == [0.5, 0.5, 100, 0.25, 100]
    with pytest.raises(ZeroDivisionError):
        [mg.jit(lambda x, rate: x + 0 * (1 / rate))(t(1), 0.0) for _ in range(3)]


def test_arithmetic_on_a_float_is_evaluated_once() -> None:
    def mixed(x, rate):
        for _ in range(64):
            rate = rate * 0.25 + rate * 0.75
        return x * rate

    f = mg.jit(mixed)
    assert [f(t(1), rate).item() for rate in (2.0, 2.0, 4.0)] == [2, 2, 4]


def test_a_float_beyond_float32_is_infinite_without_a_warning() -> None:
    f = mg.jit(lambda x, rate: x * rate)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [f(t(1), rate).item() for rate in (2.0, 2.0, 1e300, -1e300)] == [2, 2, math.inf, -math.inf]


def test_a_function_that_catches_the_refusal_gets_the_value_all_the_same() -> None:
    def guarded(x, rate):
        try:
            return x * float(rate)
        except RuntimeError:
            return x

    f = mg.jit(guarded)
    assert [f(t(1), rate).item() for rate in (2.0, 2.0, 3.0, 3.0)] == [2, 2, 3, 3]

"""Checkpoints: values are dropped and computed again, as often as needed, with the same random numbers."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from cases import over
from parallel_work import in_threads
from points import leaf

import minigrad as mg
from minigrad.errors import GradientError, StorageError


def close(a: Any, b: Any) -> None:
    assert a.tolist() == pytest.approx(b.tolist())


def chain(x: Any) -> Any:
    return (x.sin() * x).exp().tanh() * x


def assert_the_same(fn: Callable[[Any], Any], orders: int) -> None:
    """A checkpoint of a function has its derivatives."""
    x = leaf(0.5, -0.3)
    y, plain = mg.checkpoint(fn, x).sum(), fn(x).sum()
    for _ in range(orders):
        y, plain = mg.grad(y, x, create_graph=True), mg.grad(plain, x, create_graph=True)
        close(y, plain)
        y, plain = y.sum(), plain.sum()


def test_gradients_of_first_second_and_third_order() -> None:
    assert_the_same(chain, 3)


def test_it_stops_when_the_last_value_that_is_wanted_is_there() -> None:
    ran: list[str] = []

    def f(x: Any) -> Any:
        ran.append("a")
        x = x.exp()
        ran.append("b")
        x = x.exp()
        ran.append("c")
        return x * 2.0 + 1.0

    x = leaf(0.5)
    y = mg.checkpoint(f, x)
    assert ran == ["a", "b", "c"]
    y.backward(retain_graph=True)
    assert ran == ["a", "b", "c", "a", "b", "c"]
    ran.clear()

    def g(x: Any) -> Any:
        ran.append("a")
        x = x.exp()
        ran.append("b")
        return x + 1.0, ran.append("c")

    mg.checkpoint(g, x)[0].backward()
    assert ran == ["a", "b", "c", "a"]


def test_nested_checkpoints_run_each_function_again_and_keep_nothing_of_the_inner() -> None:
    ran: list[str] = []

    def inner(x: Any) -> Any:
        ran.append("g")
        return x.sin().exp()

    def outer(x: Any) -> Any:
        ran.append("f")
        return mg.checkpoint(inner, x.exp()) * x

    x = leaf(0.5)
    y, plain = mg.checkpoint(outer, x), x.exp().sin().exp() * x
    assert ran == ["f", "g"]
    first, expected = mg.grad(y, x, create_graph=True), mg.grad(plain, x, create_graph=True)
    close(first, expected)
    assert ran == ["f", "g", "f", "g", "g"]  # the inner once with the outer, once for itself
    close(mg.grad(first, x), mg.grad(expected, x))


def test_values_in_between_are_dropped() -> None:
    alive: list[Any] = []

    def f(x: Any) -> Any:
        for _ in range(5):
            x = x.sin()
            alive.append(weakref.ref(x.storage))
        return x

    def outer(x: Any) -> Any:
        return mg.checkpoint(f, mg.checkpoint(f, x))

    for fn, count in ((f, 5), (outer, 10)):
        alive.clear()
        x = leaf(0.5)
        y = mg.checkpoint(fn, x)
        gc.collect()
        assert [ref() is not None for ref in alive] == [False] * (count - 1) + [True]
        y.backward()
        plain = fn(x)
        close(x.grad, mg.grad(plain, x))


def test_random_numbers_are_those_of_the_first_run_and_the_stream_goes_on() -> None:
    generator = mg.Generator(3)

    def f(x: Any, generator: Any) -> Any:
        mask = mg.rand(4, dtype="float64", device="reference") < 0.5
        noise = mg.randn(4, dtype="float64", device="reference", generator=generator)
        return x.exp() * mask * noise

    x = leaf(0.1, 0.2, 0.3, 0.4)
    mg.manual_seed(7)
    y = mg.checkpoint(f, x, generator)
    after, offset = mg.rand(1).item(), generator.offset
    y.sum().backward()
    close(x.grad, y)
    follows = mg.rand(1).item()
    assert generator.offset == offset
    mg.manual_seed(7)
    mg.rand(4, dtype="float64", device="reference")
    assert [mg.rand(1).item(), mg.rand(1).item()] == [after, follows]


def test_another_thread_draws_undisturbed_while_a_function_runs_again() -> None:
    drawn: list[float] = []
    runs: list[int] = []

    def f(x: Any) -> Any:
        runs.append(1)
        if len(runs) == 2:
            thread = threading.Thread(target=lambda: drawn.append(mg.rand(1).item()))
            thread.start()
            thread.join()
        return x.exp() * mg.rand(1, dtype="float64", device="reference")

    x = leaf(0.5)
    mg.manual_seed(11)
    y = mg.checkpoint(f, x)
    y.backward()
    drawn.append(mg.rand(1).item())
    mg.manual_seed(11)
    mg.rand(1, dtype="float64", device="reference")
    assert drawn == [mg.rand(1).item(), mg.rand(1).item()]


def test_a_var_that_the_function_has_caught_gets_its_gradient() -> None:
    w, x = leaf(3.0), mg.tensor([2.0], dtype="float64", device="reference")
    mg.checkpoint(lambda x: (x * w).exp(), x).backward()
    close(w.grad, (x * w).exp() * 2.0)
    assert not mg.checkpoint(lambda x: x.exp(), x).requires_grad


def test_a_hook_inside_fires_once_and_another_pass_runs_again() -> None:
    seen: list[float] = []
    ran: list[int] = []

    def f(x: Any) -> Any:
        ran.append(1)
        h = x.exp()
        h.register_hook(lambda g: seen.append(g.item()))
        return h * h

    x = leaf(0.5)
    y = mg.checkpoint(f, x)
    y.backward(retain_graph=True)
    assert len(seen) == 1 and len(ran) == 2
    y.backward()
    assert len(seen) == 2 and len(ran) == 3
    with pytest.raises(GradientError, match="was freed"):
        y.backward()


def test_what_was_written_in_between_is_noticed() -> None:
    x, z = leaf(0.5), mg.tensor([1.0], dtype="float64", device="reference")
    y = mg.checkpoint(lambda x, z: (x + z).exp(), x, z)
    with mg.no_grad():
        z += 1.0
    with pytest.raises(StorageError, match=r"checkpoint: the argument float64\(1,\) was at version 0"):
        y.backward()
    w = leaf(0.5)
    y = mg.checkpoint(lambda x: (x * w).exp(), x)
    with mg.no_grad():
        w += 1.0
    with pytest.raises(StorageError, match=r"mul.* saved its operand 'other'"):
        y.backward()


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda x: x.exp(), r"saved 2 values in its first run and 1 when it was run again"),
        (lambda x: x.sin().sin(), r"value 1 of the function was float64\(1,\), saved by exp, .* saved by sin"),
        (
            lambda x: x.expand(3).exp().exp(),
            r"value 1 of the function was float64\(1,\), saved by exp, .* float64\(3,\)",
        ),
    ],
    ids=["fewer", "another op", "another shape"],
)
def test_a_function_that_computes_something_else_is_refused(second: Any, message: str) -> None:
    runs: list[int] = []

    def f(x: Any) -> Any:
        runs.append(1)
        return x.exp().exp() if len(runs) == 1 else second(x)

    x = leaf(0.5)
    y = mg.checkpoint(f, x)
    with pytest.raises(mg.utils.checkpoint.CheckpointError, match=message):
        y.backward()
    assert x.grad is None


def test_a_second_run_that_saves_more_is_refused_unless_it_stops_early() -> None:
    for early in (True, False):
        runs: list[int] = []

        def f(x: Any, runs: list[int] = runs) -> Any:
            runs.append(1)
            return x.sin().exp() if len(runs) == 1 else x.sin().exp().sin()

        x = leaf(0.5)
        y = mg.checkpoint(f, x, early_stop=early)
        if early:
            assert mg.grad(y, x).tolist() == mg.grad(x.sin().exp(), x).tolist()
        else:
            with (
                mg.utils.checkpoint.set_checkpoint_debug_enabled(True),
                pytest.raises(GradientError, match="saved 2 values in its first run and 3 when"),
            ):
                y.backward()


def test_keywords_are_handed_on_and_nothing_happens_under_no_grad() -> None:
    ran: list[int] = []

    def f(x: Any, *, n: int, z: Any) -> Any:
        ran.append(n)
        return x.exp() * n * z

    x, z = leaf(0.5), leaf(4.0)
    y = mg.checkpoint(f, x, n=3, z=z, use_reentrant=False, preserve_rng_state=False)
    y.backward()
    close(x.grad, y)
    close(z.grad, x.exp() * 3.0)
    with mg.no_grad():
        assert not mg.checkpoint(f, x, n=3, z=z).requires_grad
    assert ran == [3, 3, 3]


def test_one_graph_of_checkpoints_from_two_threads() -> None:
    x = leaf(0.5, 0.25)
    y = mg.checkpoint(lambda x: mg.checkpoint(chain, chain(x)), x).sum()
    expected = mg.grad(y, x, retain_graph=True).tolist()
    found = in_threads(2, lambda k: [mg.grad(y, x, retain_graph=True).tolist() for _ in range(20)])
    assert found == [[expected] * 20] * 2


def test_what_explains_a_gradient_asks_for_what_was_dropped_and_a_tape_says_that_nothing_is_held() -> None:
    x = mg.Var([0.0, 4.0], dtype="float64", device="reference", name="x")
    with mg.debug():
        y = mg.checkpoint(lambda x: (x * 2.0).sqrt().exp(), x).sum()
    assert "sqrt" in str(x.explain_grad(y))
    assert "0 B" in str(mg.tape(y))
    assert "sqrt" in "".join(node.label for node in mg.viz.graph(y).nodes)


def written_inside(x: Any) -> Any:
    y = x.exp()
    y.mul_(2.0)
    return (y * y).sum()


def test_a_write_inside_that_the_second_run_repeats_raises_as_without_a_checkpoint() -> None:
    # The memory that would tell of the write is gone when the gradient is computed; PyTorch gives twice the gradient.
    x = leaf(0.5, -0.3)
    with pytest.raises(StorageError, match="changed in place"):
        mg.grad(written_inside(x), x)
    with pytest.raises(StorageError, match="the function changed this tensor in place"):
        mg.grad(mg.checkpoint(written_inside, x), x)


def test_writes_through_views_inside_are_recorded_as_elsewhere() -> None:
    def f(x: Any) -> Any:
        y = x.sin()
        seen = y[1:]
        y[:1].mul_(x[1])
        y[1] = x[0] * x[1]
        return y * y + seen.sum()

    assert_the_same(f, 2)


def test_a_generator_that_the_function_has_caught_gives_the_same_numbers_again() -> None:
    generator, other = mg.Generator(3), mg.Generator(3)
    masks: list[Any] = []

    def masked(x: Any) -> Any:
        masks.append((mg.rand(6, generator=generator, device="reference") > 0.5).to(mg.float32))
        return (x.exp() * masks[-1]).exp()

    x = leaf(*[1.0] * 6)
    y = mg.checkpoint(masked, x).sum()
    following = mg.rand(2, generator=generator, device="reference")
    mg.rand(6, generator=other, device="reference")
    y.backward()
    assert masks[0].tolist() == masks[1].tolist()
    assert following.tolist() == mg.rand(2, generator=other, device="reference").tolist()
    assert generator.offset == other.offset  # the second run has not moved it on


def test_a_function_that_seeds_a_generator_again_does_not_disturb_others() -> None:
    generator = mg.Generator(3)

    def seeded(x: Any) -> Any:
        generator.manual_seed(7)
        return (x * mg.rand(2, generator=generator, device="reference")).exp()

    def nested(x: Any) -> Any:
        return mg.checkpoint(seeded, x) * mg.rand(2, generator=generator, device="reference").exp()

    x = leaf(0.5, 1.0)
    y, plain = mg.checkpoint(nested, x).sum(), nested(x).sum()
    generator.manual_seed(11)
    close(mg.grad(y, x), mg.grad(plain, x))
    assert (generator.seed, generator.offset) == (11, 0)


@pytest.mark.parametrize("name", ["constant", "var", "in a list"])
def test_a_write_into_what_the_function_has_caught_is_refused(name: str) -> None:
    caught = leaf(0.5, 1.0) if name == "var" else mg.tensor([0.5, 1.0], device="reference")
    x = leaf(1.0, 2.0)
    if name == "in a list":
        y = mg.checkpoint(lambda x, others: (x + others[0]).exp(), x, [caught])
    else:
        y = mg.checkpoint(lambda x: (x + caught).exp(), x)
    with mg.no_grad():
        caught.mul_(2.0)
    with pytest.raises(StorageError, match=r"checkpoint: the function used float\d\d\(2,\), an operand of add, at ver"):
        y.sum().backward()


WITHIN: dict[str, Callable[[Any], Any]] = {
    "jacrev": lambda x: mg.func.jacrev(chain)(x),
    "jacfwd": lambda x: mg.func.jacfwd(chain)(x),
    "jacrev of jacfwd": lambda x: mg.func.jacrev(mg.func.jacfwd(lambda z: z[0] * z[1] ** 3 * W[0]))(x),
    "jacrev of jacrev": lambda x: mg.func.jacrev(mg.func.jacrev(lambda z: z[0] * z[1] ** 3 * W[0]))(x),
    "hessian": lambda x: mg.func.hessian(lambda z: chain(z).sum())(x),
    "grad": lambda x: mg.func.grad(lambda z: chain(z).sum())(x),
    "vmap": lambda x: mg.func.vmap(chain)(mg.stack([x, x * 2.0])),
    "vmap of vjp": lambda x: mg.func.vmap(mg.func.vjp(lambda z: z * z, x)[1])(mg.stack([x, W]))[0],
    "vmap of linearize": lambda x: mg.func.vmap(mg.func.linearize(chain, x)[1])(mg.stack([x, W])),
    "jvp": lambda x: mg.func.jvp(chain, (x,), (x,))[1],
    "hvp": lambda x: mg.func.hvp(lambda z: chain(z).sum(), (x,), (x,)),
}
W = leaf(0.3, 1.2)


@over("tracked", [True, False])
@over("name", WITHIN)
def test_a_checkpoint_may_contain_every_transform(name: str, tracked: bool) -> None:
    x = leaf(0.5, -0.3) if tracked else leaf(0.5, -0.3).detach()

    def fn(x: Any) -> Any:
        return WITHIN[name](x) * W.exp()

    found, plain = mg.checkpoint(fn, x), fn(x)
    close(found.reshape(-1), plain.reshape(-1))
    close(mg.grad(found.sum(), W), mg.grad(plain.sum(), W))
    if tracked:
        close(mg.grad(mg.checkpoint(fn, x).sum(), x), mg.grad(fn(x).sum(), x))

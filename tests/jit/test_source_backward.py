"""The function `back` of the text of a program: the gradients of a function that is differentiated outside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import over
from jit.test_source import X, arrays_for, same

import minigrad as mg
from minigrad.jitting.module import functions_of
from minigrad.nn import functional as F
from tests.programs import generator

pytestmark = pytest.mark.usefixtures("reference")


def leaves_of(value: Any) -> list[Any]:
    return [x for x in mg.func.trees.flatten(value)[0] if isinstance(x, mg.Tensor)]


def arrays_of_back(
    functions: dict[str, Any], args: tuple[Any, ...], first: dict[str, Any], seeds: Any
) -> dict[str, Any]:
    """The arrays that `back` takes: those of `run`, the gradients of results, and memory full of 77 for its results."""
    back = functions["back"]
    arrays = arrays_for(back, args)
    arrays |= {name: first[name] for name in back.parameters if name in first}
    for name, seed in zip(back.incoming, seeds, strict=True):
        arrays[name] = seed.numpy().reshape(arrays[name].shape).copy()
    return arrays


def checked(function: Callable[..., Any], *args: Any, rtol: float = 1e-12, outside: tuple[Any, ...] = ()) -> str:
    """Compare the gradients that `back` writes with those of the jitted function.  Returns the text."""
    step = mg.jit(function)
    for _ in range(3):
        result = step(*args)
    functions, text = functions_of(step.last), step.source()
    assert max(map(len, text.splitlines())) <= 120
    state = mg.random.get_rng_state()
    arrays, space = arrays_for(functions["run"], args), {}
    exec(compile(text, "<source>", "exec"), space)
    calls = {name: {"launch": step.launch} if "launch" in each.calls else {} for name, each in functions.items()}
    space["run"](**arrays, **calls["run"])
    random = np.random.default_rng(0)
    made = [x for x in {id(x): x for x in leaves_of(result)}.values() if x.requires_grad]
    seeds = [mg.tensor(random.normal(size=x.shape), dtype=x.dtype) for x in made]
    pulled = arrays_of_back(functions, args, arrays, seeds)
    space["back"](**pulled, **calls["back"])
    mg.random.set_rng_state(state)
    made = [x for x in {id(x): x for x in leaves_of(step(*args))}.values() if x.requires_grad]
    variables = [x for x in (*leaves_of(args), *outside) if x.requires_grad]
    wanted = mg.autograd.grad(made, variables, seeds, allow_unused=True)
    back, recorded = functions["back"], functions["back"].backward.recorded
    names = dict(zip(map(id, recorded.targets), recorded.pulled, strict=True))
    for x, g in zip(variables, wanted, strict=True):
        assert (g is None) == (id(x) not in names)
        if g is not None:
            slot, layout, _ = names[id(x)]
            name = next(name for name, each in back.parameters.items() if each == slot)
            strides = [s * pulled[name].itemsize for s in layout.strides]
            start = pulled[name].reshape(-1)[layout.offset :]
            same(np.lib.stride_tricks.as_strided(start, layout.shape, strides).copy(), g.numpy(), rtol, name)
    return text


def test_back_computes_the_gradients_of_arguments_and_of_outside_tensors() -> None:
    w = mg.Var(np.arange(12.0).reshape(2, 6) / 7)

    def f(x: Any, rate: float) -> Any:
        h = (x @ w.T).tanh() * rate
        return (h * h).sum(1), h.softmax(1), h.detach()

    text = checked(f, mg.Var(X.astype("f8")), 0.5, outside=(w,))
    run, _, back = text.partition("def back(")
    assert "kept" in run and "launch" not in text
    assert back.startswith("x, rate, w, result_0_grad, result_1_grad, kept, result_2, result_1, x_grad, w_grad):")


def test_gradients_that_pass_unchanged_are_arrays_of_their_own() -> None:
    x, y = mg.Var(X.astype("f8")), mg.Var(X[0].astype("f8"))
    text = checked(lambda x, y: x + y, x, y)
    assert "x_grad[i, j] = result_grad[i, j]" in text
    checked(lambda x: x.reshape(-1).clone(), x)
    checked(lambda x, y: (x.clone(), y.clone(), x * y), x, y)


def test_other_requests_of_a_backward_pass_are_calls_of_launch() -> None:
    x = mg.Var(X.reshape(1, 1, 4, 6).astype("f8"))
    w = mg.Var(np.linspace(-1.0, 1.0, 18).reshape(2, 1, 3, 3))
    text = checked(lambda x, w: F.max_pool2d(F.conv2d(x, w).relu(), 2), x, w)
    assert "launch(" in text.partition("def back(")[2]
    assert "pass launch=step.launch to `run`, and launch=step.launch to `back`." in " ".join(text.split())
    text = checked(lambda x: x[..., [0, 1]], x)
    assert "pass launch=step.launch to `back`." in text and "launch=None" not in text.partition("def back(")[0]


def test_back_uses_the_random_numbers_of_run() -> None:
    x = mg.Var(X.astype("f8"))
    checked(lambda x: F.dropout(x * 2.0, 0.5), x)
    q = mg.Var(np.linspace(-1.0, 1.0, 24).reshape(1, 2, 3, 4))
    checked(lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5), q, rtol=1e-9)


@over("seed", range(16))
def test_random_programs_have_the_same_gradients(seed: int) -> None:
    program = generator.program(seed)
    leaves = [mg.Var(np.asarray(leaf, "f8")) for leaf in program.leaves]
    checked(lambda *xs: program.run(mg, xs), *leaves, rtol=1e-9)


def test_the_module_of_a_differentiable_function_runs_without_minigrad(tmp_path: Path) -> None:
    x = mg.Var(X.astype("f8"))
    step = mg.jit(lambda x: (x * x).sin().sum())
    for _ in range(3):
        y = step(x)
    functions = functions_of(step.last)
    arrays = arrays_for(functions["run"], (x,))
    (tmp_path / "program.py").write_text(step.source())
    back = arrays_of_back(functions, (x,), {}, [mg.tensor(2.0, dtype="float64")])
    np.savez(tmp_path / "run.npz", **arrays)
    np.savez(tmp_path / "back.npz", **{name: each for name, each in back.items() if name not in arrays})
    code = (
        "import sys, numpy as np\nimport program\n"
        "run, back = dict(np.load('run.npz')), dict(np.load('back.npz'))\nprogram.run(**run)\n"
        "shared = [name for name in program.back.__wrapped__.__code__.co_varnames if name in run]\n"
        "program.back(**back, **{name: run[name] for name in shared})\n"
        "assert not any(name.startswith('minigrad') for name in sys.modules)\nnp.save('grad.npy', back['x_grad'])\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    (wanted,) = mg.autograd.grad(y, [x], mg.tensor(2.0, dtype="float64"))
    np.testing.assert_allclose(np.load(tmp_path / "grad.npy"), wanted.numpy(), 1e-12)

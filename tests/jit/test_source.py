"""The text of a program: plain loops over NumPy arrays that compute what the program computes."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.jitting.program import defined_at
from minigrad.jitting.source import Source, fitted
from minigrad.nn import functional as F
from tests.programs import generator

X = np.linspace(-2.0, 3.0, 24, dtype=np.float32).reshape(4, 6)


pytestmark = pytest.mark.usefixtures("reference")


def memory_of(source: Source, slot: int, storage: Any, offset: int = 0) -> Any:
    """The memory of a storage as the text shows it."""
    array = source.arrays.arrays[slot]
    strides = [s * storage.buffer.itemsize for s in array.strides]
    return np.lib.stride_tricks.as_strided(storage.buffer[offset:], array.shape, strides)


def arrays_for(source: Source, args: tuple[Any, ...]) -> dict[str, Any]:
    """Copies of the arrays that `run` takes, as they are now; those of results are full of 77."""
    made = source.recording
    tensors = [x for x in mg.func.trees.flatten(args)[0] if isinstance(x, mg.Tensor)]
    floats = iter([x for x in mg.func.trees.flatten(args)[0] if type(x) is float])
    given = {slot: x for (slot, _), x in zip(made.argument_slots, tensors)}
    own = dict(made.argument_slots)
    values: dict[str, Any] = {}
    for name, slot in source.parameters.items():
        if slot is None:
            values[name] = next(floats)
        elif slot in given:
            offset = given[slot].layout.offset if own[slot] else 0
            values[name] = memory_of(source, slot, given[slot].storage, offset).copy()
        elif source.real(slot) is not None:
            values[name] = memory_of(source, slot, source.real(slot)).copy()
        elif source.memory[slot].kind == "constant":
            values[name] = source.memory[slot].value.reshape(source.arrays.arrays[slot].shape)
        else:
            values[name] = np.full(source.arrays.arrays[slot].shape, 77, source.memory[slot].dtype.storage)
    return values


def checked(function: Callable[..., Any], *args: Any, rtol: float = 0.0, calls: bool = False) -> str:
    """Run the text and the program from the same memory, and compare all that both write.  Returns the text."""
    step = function if isinstance(function, mg.jitting.Jitted) else mg.jit(function)
    for _ in range(3):
        step(*args)
    source = Source(step.last)
    text = step.source()
    assert max(map(len, text.splitlines())) <= 120
    ast.parse(text)
    arrays = arrays_for(source, args)
    state = mg.random.get_rng_state() if calls else None
    space: dict[str, Any] = {}
    exec(compile(text, "<source>", "exec"), space)
    if calls:
        kept = [(x.storage, x.storage.buffer.copy()) for x in source.recording.outside.tensors.values()]
        used = [name for name in ("launch", "host") if f"{name}=None" in text]
        space["run"](**arrays, **{name: getattr(step, name) for name in used})
        mg.random.set_rng_state(state)
        for storage, before in kept:
            storage.buffer[...] = before
    else:
        space["run"](**arrays)
    result = step(*args)
    leaves = iter([x for x in mg.func.trees.flatten(result)[0] if x is not None])
    wanted = [(next(leaves), made) for made in source.recording.results if made is not None]
    for x, made in wanted:
        slot = getattr(made, "slot", None)
        name = next((name for name, s in source.parameters.items() if s == slot and slot is not None), None)
        if name is not None and isinstance(x, mg.Tensor):
            same(arrays[name], memory_of(source, slot, x.storage), rtol, name)
    for name, slot in source.parameters.items():
        if slot is not None and source.real(slot) is not None:
            same(arrays[name], memory_of(source, slot, source.real(slot)), rtol, name)
    for x, made in source.recording.final:
        name = next((name for name, s in source.parameters.items() if made is not None and s == made.slot), None)
        if name is not None and x.grad is not None:
            same(arrays[name], memory_of(source, made.slot, x.grad.storage), rtol, name)
    return text


def same(a: Any, b: Any, rtol: float, name: str) -> None:
    assert a.dtype == b.dtype, name
    if rtol:
        np.testing.assert_allclose(a, b, rtol, rtol / 10, err_msg=name)
    else:
        assert a.tobytes() == b.tobytes(), (name, a, b)


def mlp() -> tuple[mg.jitting.Jitted, tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    w1, b1 = mg.Var(rng.normal(size=(8, 4)).astype("f")), mg.Var(np.zeros(8, "f"))
    w2, b2 = mg.Var(rng.normal(size=(3, 8)).astype("f")), mg.Var(np.zeros(3, "f"))
    params = [w1, b1, w2, b2]
    velocities = [mg.zeros(p.shape) for p in params]

    @mg.jit
    def step(x: Any, target: Any, rate: float) -> Any:
        for p in params:
            p.grad = None
        h = F.linear(x, w1, b1).relu()
        loss = F.cross_entropy(F.linear(h, w2, b2), target)
        loss.backward()
        with mg.no_grad():
            for p, velocity in zip(params, velocities):
                velocity.mul_(0.9).add_(p.grad)
                p.sub_(rate * velocity)
        return loss

    x, target = mg.tensor(rng.normal(size=(5, 4)).astype("f")), mg.tensor(np.array([0, 1, 2, 1, 0]))
    return step, (x, target, 0.1)


# ---- a training step ----


def test_the_step_of_an_mlp_computes_the_same_numbers() -> None:
    step, args = mlp()
    text = checked(step, *args, rtol=1e-5)
    assert "h = F.linear(x, w1, b1).relu()" in text and "loss.backward()" in text and "launch" not in text


def test_the_module_of_an_mlp_is_short() -> None:
    step, args = mlp()
    text = checked(step, *args, rtol=1e-5)
    assert text.count("\n") <= 120
    for line in ("total += x[i, k] * w1[j, k]", "t0[i, j] = total + b1[j]", "w1[i, j] = w1[i, j] - rate * v1"):
        assert line in text


def test_the_module_runs_without_minigrad(tmp_path: Path) -> None:
    step, args = mlp()
    for _ in range(3):
        step(*args)
    source = Source(step.last)
    arrays = arrays_for(source, args)
    np.savez(tmp_path / "before.npz", **arrays)
    (tmp_path / "program.py").write_text(step.source())
    code = (
        "import sys, numpy as np\nimport program\n"
        "arrays = dict(np.load('before.npz'))\nprogram.run(**arrays)\n"
        "assert not any(name.startswith('minigrad') for name in sys.modules)\nnp.savez('after.npz', **arrays)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    after = np.load(tmp_path / "after.npz")
    loss = step(*args)
    np.testing.assert_allclose(after["result"], loss.numpy(), 1e-5)
    for name in ("w1", "b1", "w2", "b2", "velocities_0", "velocities_3"):
        slot = source.parameters[name]
        assert slot is not None
        same(after[name], memory_of(source, slot, source.real(slot)), 1e-5, name)


# ---- single launches ----


def chain(x: Any) -> Any:
    y = mg.maximum(x * 1.5 + 0.25, x)
    return mg.where((y > 0.5) & (x < 2.0), y * x, -y.relu()), 1.0 / x.relu()


def several(x: Any, rate: float) -> Any:
    return x * rate + rate**2, (x * (rate * 2)).sqrt(), x.sign() - 0.5


def integers(x: Any) -> Any:
    n = (x * 3).to(mg.int64)
    return n // 2, n % 3, n**2, -n, n & 3, (n > 1).to(mg.int32), n / 2, (x * 1e30).to(mg.int32), n.to(mg.uint8), n.abs()


def booleans(x: Any) -> Any:
    a, b = x > 0.5, x < 2.0
    return a & b, a | b, a ^ b, ~a, a + b, a * b, a == b, a.to(mg.float32) - b.to(mg.float32), a.sum()


def views(x: Any) -> Any:
    t = x.transpose(0, 1) * 2.0
    return (
        t + 1.0,
        x[1:, ::2] * x[:-1, 1::2],
        x.reshape(3, 8) + 1.0,
        x.reshape(-1)[::5] * 1.0,
        x.flip(1) - x,
        x[2] * x[0],
    )


def writes(x: Any) -> Any:
    y = x * 1.0
    y[1:3, ::2] = 5.0
    y[:, 0] += x[:, 1]
    y.transpose(0, 1).mul_(0.5)
    y[0] = y[1] * 2.0
    return y, y.diagonal() + 1.0


def broadcasting(x: Any) -> Any:
    row, column = x[0], x[:, :1]
    return row + column, x * row - column, x[None] + x[:, None], mg.ones(3, 1) * 2.0


@pytest.mark.parametrize("function", [chain, integers, booleans, views, writes, broadcasting])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elementwise_programs_have_the_same_bits(function: Callable[..., Any], dtype: str) -> None:
    checked(function, mg.tensor(X, dtype=dtype))
    checked(function, mg.tensor(X.T.copy(), dtype=dtype).transpose(0, 1))


def test_floats_are_parameters() -> None:
    text = checked(several, mg.tensor(X), 0.375)
    assert "rate" in text.partition("def run(")[2].partition(")")[0]


def reductions(x: Any) -> Any:
    y = x.reshape(2, 2, 6)
    n = (x * 3).to(mg.int32)
    return (y.sum((0, 2)), y.mean(1, keepdim=True), x.amax(1), x.min(), y.prod(0), n.sum(0), (x > 0).any(1),
            x.var(1), x.std(0), mg.linalg.vector_norm(x, dim=1), x.cumsum(1), x.sum())  # fmt: skip


def rows(x: Any) -> Any:
    return (x.softmax(1), x.log_softmax(0), F.layer_norm(x, (6,)), x.reshape(2, 2, 6).softmax(1), x.logsumexp(1))


def by_index(x: Any) -> Any:
    index = mg.tensor([[0, -1, 2], [1, 1, 5]])
    target = mg.tensor([0, 5, -100, 2])
    losses = [F.cross_entropy(x, target, reduction=each) for each in ("none", "sum", "mean")]
    weight = mg.tensor([0.5, 1.0, 2.0, 4.0, 1.5, 3.0], dtype=x.dtype)
    losses += [F.nll_loss(x, target, each, reduction=how) for each in (None, weight) for how in ("none", "mean")]
    losses += [mg.func.grad(F.nll_loss)(x, target, each) for each in (None, weight)]
    return [
        x.gather(1, index),
        x.index_select(0, mg.tensor([3, 0])),
        mg.cat([x, x * 2.0], 1),
        mg.arange(2, 9, 3),
        *losses,
    ]


@pytest.mark.parametrize("function", [reductions, rows, by_index])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_and_rows_have_the_same_values(function: Callable[..., Any], dtype: str) -> None:
    checked(function, mg.tensor(X, dtype=dtype), rtol=1e-5, calls=True)


def test_products_of_batches_and_of_integers() -> None:
    a, b = mg.tensor(np.arange(24.0).reshape(2, 3, 4)), mg.tensor(np.arange(8.0).reshape(4, 2))
    checked(lambda x, y: (x @ y, x.to(mg.int64) @ y.to(mg.int64), mg.addmm(x[0] @ y, x[1], y, beta=0.5, alpha=2.0)),
            a, b, rtol=1e-12)  # fmt: skip


# ---- calls of minigrad ----


def test_other_requests_are_calls_of_launch() -> None:
    x = mg.tensor(X.reshape(1, 1, 4, 6))
    w = mg.tensor(np.ones((2, 1, 3, 3), "f"))
    text = checked(lambda x, w: (F.conv2d(x, w).relu(), F.max_pool2d(x, 2), x.sort(3)[0]), x, w, rtol=1e-5, calls=True)
    assert "# convolution:" in text and "launch(0, x, w, " in text and "launch=step.launch" in text


def test_random_numbers_and_16_bit_floats_are_calls_of_launch() -> None:
    x = mg.tensor(X)
    text = checked(lambda x: (x * mg.rand(4, 6), x.to(mg.bfloat16) * 2.0), x, calls=True)
    assert "# random numbers:" in text and "# mul:" in text


def test_the_step_of_an_optimizer_is_a_call_with_its_formula() -> None:
    w = mg.Var(X)
    optimizer = mg.optim.SGD([w], lr=0.1, momentum=0.9)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss, (w * 2.0).detach()

    jitted = mg.jit(step)
    for _ in range(3):
        jitted(mg.tensor(X))
    text = jitted.source()
    assert "host(" in text and "optimizer.step()" in text and "momentum" in text
    source = Source(jitted.last)
    arrays = arrays_for(source, (mg.tensor(X),))
    before = {name: each.copy() for name, each in arrays.items()}
    space: dict[str, Any] = {}
    exec(text, space)
    buffers = {x: x.numpy().copy() for x in [optimizer.state[w]["momentum_buffer"]]}
    space["run"](**arrays, host=jitted.host)
    with mg.no_grad():
        w.copy_(mg.tensor(before["w"]))
        for x, values in buffers.items():
            x.copy_(mg.tensor(values))
    loss, doubled = jitted(mg.tensor(X))
    same(arrays["w"], w.detach().numpy(), 1e-6, "w")
    same(arrays["result_1"], doubled.numpy(), 1e-6, "doubled")
    same(arrays["result_0"], loss.numpy(), 1e-6, "loss")


# ---- random programs ----


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_same_values(seed: int) -> None:
    program = generator.program(seed)
    leaves = [mg.tensor(leaf, dtype="float64") for leaf in program.leaves]
    checked(lambda *xs: program.run(mg, xs), *leaves, rtol=1e-12, calls=True)


def test_a_network_with_an_optimizer_is_a_module_of_loops() -> None:
    model = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.LayerNorm(8), mg.nn.GELU(), mg.nn.Linear(8, 3))
    optimizer = mg.optim.SGD(model.parameters(), lr=1e-2)

    def step(x: Any, target: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        return loss

    x, target = mg.tensor(X[:, :4].copy()), mg.tensor([0, 1, 2, 1])
    text = checked(step, x, target, rtol=1e-4, calls=True)
    assert "launch" not in text and "model_0_weight" in text and "p = p - lr * (g" in text
    assert "x, " not in text.rpartition("host(")[2]


def test_long_lines_are_broken_where_python_allows_it() -> None:
    terms = " + ".join([f"t{k}[i, j]" for k in range(20)])
    for line in (f"t0[i, j] = {terms}", f"v1 += {terms}", f"launch({', '.join(['array'] * 40)})"):
        lines = fitted(f"for i in range(2):\n    {line}").splitlines()
        assert len(lines) > 2 and max(map(len, lines)) <= 118 and "".join(lines).count("[i, j]") == line.count("[i, j]")
        ast.parse("\n".join(lines))


def test_a_line_of_a_notebook_has_its_text(tmp_path: Path) -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell.instance(ipython_dir=str(tmp_path), config=Config(HistoryManager={"enabled": False}))
    shell.execution_count = 7
    cell = "import minigrad as mg\n@mg.jit\ndef f(x):\n    return x.exp()\nfor _ in range(3):\n    f(mg.ones(3))"
    try:
        shell.run_cell(cell, store_history=True).raise_error()
        assert "# In[7]:4: return x.exp()" in str(shell.user_ns["f"].source())
        assert defined_at(shell.user_ns["f"].function) == "In[7]:2: "
    finally:
        InteractiveShell.clear_instance()


def test_without_a_program_the_text_says_so() -> None:
    assert mg.jit(chain).source().startswith("# no program yet")


# ---- the picture ----


def test_the_picture_of_a_program_has_a_box_per_launch(tmp_path: Path) -> None:
    step, args = mlp()
    for _ in range(3):
        step(*args)
    picture = step.graph()
    boxes = [node for node in picture.nodes if node.id.startswith("launch")]
    assert step.last is not None and len(boxes) == len(step.last.tape.items)
    assert [node.label.splitlines()[0] for node in boxes][-1] == "mul, add, mul, sub"
    assert "4 operations in one loop" in boxes[-1].label and "p.sub_(rate * velocity)" in boxes[-1].hint
    assert any(edge.label == "float32(5, 8)" for edge in picture.edges)
    assert {node.label.splitlines()[0] for node in picture.nodes if node.kind == "output"} >= {
        "result",
        "w1",
        "w1_grad",
    }
    assert "<svg" in picture.save(tmp_path / "g.html").read_text()


def test_a_picture_needs_a_program() -> None:
    with pytest.raises(mg.ArgumentError, match=r"^viz\.program: no program yet"):
        mg.jit(chain).graph()
    with pytest.raises(mg.ArgumentError, match=r"^viz\.program: step must be a function that mg\.jit returned"):
        mg.viz.program(chain)

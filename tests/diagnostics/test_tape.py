"""The values that a graph holds, op by op."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from cases import over

import minigrad as mg
from minigrad.errors import GradientError
from minigrad.viz.explain import explanation


def chain(x: mg.Tensor, n: int) -> mg.Tensor:
    """n ops that save their results."""
    for _ in range(n):
        x = x.tanh()
    return x


def test_each_storage_is_counted_once_and_at_the_op_that_saved_it_first() -> None:
    x, w = mg.Var(mg.ones(64)), mg.Var(mg.ones(64))
    y = x * 2.0
    loss = ((y * w) * y).sum()
    tape = mg.tape(loss)
    assert [row.name for row in tape] == ["mul", "mul", "mul", "sum"]
    size = y.storage.buffer.nbytes
    # 2.0 is a number of the program; w is a Var's; y is saved by the second product, y * w by the third.
    assert [row.saved for row in tape][1:] == [size, size, 0]
    assert tape.saved == sum(row.saved for row in tape)


def test_time_forward_is_known_under_debug_and_backward_where_it_is_timed() -> None:
    x = mg.Var(mg.ones(64))
    assert all(row.forward is None and row.backward is None for row in mg.tape(chain(x, 2)))
    with mg.debug():
        y = chain(x, 3)
    timed = mg.tape(y, timed=True)
    assert all(row.forward > 0 and row.backward > 0 for row in timed)
    assert timed.peak is not None and timed.peak >= y.storage.buffer.nbytes  # a gradient
    assert mg.tape(y.sum().reshape(()) * 1.0)[0].forward is not None
    y.backward()  # the graph was kept


def test_a_block_says_what_checkpointing_it_frees() -> None:
    x = mg.Var(mg.ones(1024))
    loss = chain(x, 8).sum()
    tape = mg.tape(loss)
    block = tape[2:6]
    one = tape[2].saved
    assert [row.name for row in block] == ["tanh"] * 4
    assert block.saved == 4 * one and block.kept == 0 and block.freed == 4 * one  # tanh 1 holds what comes in
    assert block.recomputed is None
    assert "checkpointing ops" in str(tape)


def test_no_block_of_a_small_graph_frees_more_than_it_holds() -> None:
    x = mg.Var([3.0, 1.0, 4.0])
    tape = mg.tape((x * x + x * 5.0 + 4.0).sum())
    blocks = [tape[i:j] for j in range(len(tape) + 1) for i in range(j)]
    assert all(block.freed + block.kept == block.saved + block.pictured for block in blocks)
    assert max(block.freed for block in blocks) > tape.saved, "part of it is held for pictures"
    first, *others = tape.summary()
    assert first == "float32(): 5 ops hold 64 B for the backward pass, and 256 B for pictures"
    assert others == ["checkpointing ops 1 to 2 would free 64 B of this"]
    large = mg.Var(mg.ones(7))
    assert mg.tape((large * large).sum()).pictured == 0


def test_a_tape_of_one_op_and_an_empty_block_read_as_sentences() -> None:
    tape = mg.tape(mg.Var(mg.ones(3)).exp())
    assert tape.summary() == ["float32(3,): 1 op holds 64 B for the backward pass"]
    assert tape[:0].summary() == ["no ops of float32(3,): 0 ops hold 0 B for the backward pass"]
    assert tape[:1].what == "op 0 of float32(3,)" and mg.tape(chain(mg.Var(1.0), 4))[::3].what.startswith(
        "ops 0 to 3 in steps of 3 of "
    )


def test_it_reads_as_a_table_and_as_html() -> None:
    x = mg.Var(mg.ones(8))
    with mg.debug():
        y = chain(x, 2)
    text = str(mg.tape(y))
    assert text.splitlines()[0].split() == ["op", "saved", "forward", "backward", "line"]
    assert "tanh(8,)" in text and "test_tape.py:" in text and "2 ops hold" in text
    assert mg.tape(y)._repr_html_().count("<tr>") == 3


def test_what_holds_nothing_is_refused() -> None:
    x = mg.Var(mg.ones(8))
    with pytest.raises(GradientError, match="not computed from a Var"):
        mg.tape(mg.ones(3))
    y = chain(x, 2)
    y.backward()
    with pytest.raises(GradientError, match="freed"):
        mg.tape(y)


def test_a_checkpoint_holds_what_it_was_called_with_once_and_not_its_vars() -> None:
    x, w = mg.Var(mg.ones(1024)), mg.Var(mg.ones(1024))
    h = x.tanh()
    size = h.storage.buffer.nbytes
    y = mg.checkpoint(lambda h, w: chain(h * w, 3), h.sin(), w).sum()
    tape = mg.tape(y)
    assert [row.name for row in tape] == ["tanh", "sin", "mul", "tanh", "tanh", "tanh", "sum"]
    assert [row.saved for row in tape] == [size, 0, size, 0, 0, 0, 0]  # sin saves what tanh has saved
    nested = mg.tape(mg.checkpoint(lambda h: mg.checkpoint(chain, h * 1.0, 3), h.sin()).sum())
    assert [row.saved for row in nested] == [size, 0, size, 0, 0, 0, 0]


def test_what_hooks_packed_counts_where_it_is_a_tensor() -> None:
    x = mg.Var(mg.ones(1024))
    size = x.storage.buffer.nbytes
    for pack, held in ((lambda t: t.clone(), size), (lambda t: t.tolist(), 0)):
        with mg.autograd.graph.saved_tensors_hooks(pack, mg.tensor):
            y = chain(x * 1.0, 2).sum()
        assert [row.saved for row in mg.tape(y)][1:] == [held, held, 0]


W = mg.Var(mg.ones(30, 20, device="reference"), name="w")
DATA = mg.ones(30, 20, device="reference")
# Before the block, the block, after it.
PROGRAMS: dict[str, tuple[Any, Any, Any]] = {
    "a chain": (lambda x: x.tanh(), lambda x: chain(x, 4), lambda x: chain(x, 2).sum()),
    "what comes in is held by nobody else": (lambda x: x * 2.0, lambda x: x.sin().cos().tanh(), lambda x: x.sum()),
    "what comes in is saved by an op of the block": (lambda x: x + 1.0, lambda x: (x * x).exp(), lambda x: x.sum()),
    "what goes out is saved outside": (lambda x: x.exp(), lambda x: (x * 2.0).tanh().sin(), lambda x: (x * x).sum()),
    "a slice of more": (lambda x: x.exp(), lambda x: (x[:1] * 2.0).tanh().exp(), lambda x: x.sum()),
    "a slice of what nobody holds": (lambda x: (x + 1.0)[:1], lambda x: x.tanh().exp(), lambda x: x.sum()),
    "a slice of few elements after it": (
        lambda x: x.sum(1, keepdim=True).exp(),
        lambda x: x.exp(),
        lambda x: x[:4] * 2.0,
    ),
    "a slice of few elements in the block": (
        lambda x: x.sum(1, keepdim=True),
        lambda x: x.sin()[:4] * 2.0,
        lambda x: x.sum(),
    ),
    "a slice in the block": (lambda x: x + 1.0, lambda x: x[:1].tanh().exp(), lambda x: x.sum()),
    "a Var and data": (lambda x: x + 1.0, lambda x: ((x * W) * DATA).exp(), lambda x: x.sum()),
    "data that is read transposed": (lambda x: x.exp(), lambda x: (x.T * DATA.T).sin(), lambda x: x.sum()),
    "a mask of its own": (lambda x: x.exp(), lambda x: mg.where(x > 0.5, x * 2.0, x.sin()), lambda x: x.sum()),
    "from the beginning": (lambda x: x, lambda x: chain(x, 3), lambda x: x.sum()),
    "to the end": (lambda x: x.tanh(), lambda x: chain(x, 3), lambda x: x),
    "several results": (lambda x: x + 1.0, lambda x: x.sort().values.exp(), lambda x: x.tanh().sum()),
    "what comes in twice": (lambda x: x.tanh(), lambda x: x.T.exp() * x.T.sin(), lambda x: x.sum()),
}


def held(name: str, checkpointed: bool, variables: list[mg.Tensor] | None = None) -> tuple[int, Any, int]:
    """Bytes that a program holds; its result, and how many ops come before the block.

    variables: receives what comes into the block and what goes out, as a program that still has both.
    """
    before, block, after = PROGRAMS[name]
    x = mg.Var(mg.ones(30, 20, device="reference"))
    start = mg.memory_stats("reference").allocated_bytes
    h = before(x)
    first = len(mg.tape(h)) if h.requires_grad and h is not x else 0
    out = mg.checkpoint(block, h) if checkpointed else block(h)
    y = after(out)
    if variables is not None:
        variables += [h, out]
    del h, out
    return mg.memory_stats("reference").allocated_bytes - start, y, first


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Garbage of other tests is not collected while bytes are counted."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@over("name", PROGRAMS)
def test_what_a_checkpoint_would_free_is_what_it_frees(name: str) -> None:
    held(name, True)  # numbers such as 2.0 are kept from here on
    plain, y, first = held(name, False)
    ops = len(mg.tape(y)) - first - len_of_end(name)
    promised = mg.tape(y)[first : first + ops].freed
    with_checkpoint, z, _ = held(name, True)
    assert promised == max(0, plain - with_checkpoint)
    again = mg.tape(z)
    assert len(again) == len(mg.tape(y)) and again[first : first + ops].freed == 0, "it promises the same once"


@pytest.mark.usefixtures("uncollected")
@over("name", PROGRAMS)
def test_what_the_program_still_has_is_neither_freed_nor_counted(name: str) -> None:
    held(name, True)
    kept: list[mg.Tensor] = []
    plain, y, first = held(name, False, kept)
    promised = mg.tape(y)[first : len(mg.tape(y)) - len_of_end(name)].freed
    del kept
    also: list[mg.Tensor] = []
    with_checkpoint, _, _ = held(name, True, also)
    assert promised == max(0, plain - with_checkpoint)


def len_of_end(name: str) -> int:
    """How many ops come after the block."""
    _, _, after = PROGRAMS[name]
    x = mg.Var(mg.ones(20, device="reference"))
    y = after(x)
    return 0 if y is x else len(mg.tape(y))


@pytest.mark.parametrize("wrong", [3, None, [1.0], abs])
def test_functions_that_explain_a_tensor_refuse_other_objects(wrong: Any) -> None:
    for name, function in (("explain", mg.explain), ("explain", mg.viz.explanation), ("viz.kernels", mg.viz.kernels)):
        with pytest.raises(mg.DTypeError, match=rf"^{name}: expected a tensor, got "):
            function(wrong)
    x = mg.ones(2, device="reference")
    with pytest.raises(
        mg.ArgumentError, match=r"precision: f must be a function .*, got float32\(2,\); pass the function"
    ):
        mg.viz.precision(x, x)
    with pytest.raises(mg.ArgumentError, match=r"^viz\.Log: path must be a str or a Path, got int 3"):
        mg.viz.Log(3)  # type: ignore[arg-type]


def test_the_formulas_of_an_op_and_of_its_gradients_are_explained() -> None:
    x, w = mg.Var([[1.0, -2.0]], name="x", device="reference"), mg.Var([3.0, 4.0], name="w", device="reference")
    text = explanation(mg.nn.functional.gelu(x * w).tanh())
    assert (
        "computes    y = input · other\n    gradient    d input = ȳ · other\n    gradient    d other = ȳ · input"
        in text
    )
    assert "computes    y = input · Φ(input)\n    gradient    d input = ȳ · Φ(input) + " in text
    assert text.count(", derived from the body") == 1, "of gelu; the others are written"
    assert text.endswith("computes    y = tanh(x)\n    gradient    x\u0304 = ȳ · (1 − y · y)")


def test_only_gradients_that_are_required_and_can_be_written_are_explained() -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    assert "d other" not in explanation(x / mg.tensor([3.0, 4.0], device="reference"))
    assert "gradient" not in explanation(x.cumsum(0)) and "gradient" not in explanation(mg.frexp(x)[0])

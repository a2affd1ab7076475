"""Views in place, questions that scripts ask of tensors, and the state of the default generator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.api import in_place
from minigrad.errors import ArgumentError, DeviceError, GradientError, ShapeError, StorageError

HERE = {"device": "reference"}
CALLS: dict[str, tuple[Any, ...]] = {
    "squeeze": (1,), "unsqueeze": (-1,), "t": (), "transpose": (0, 1), "as_strided": ((2, 2), (1, 2), 1),
    "swapaxes": (1, 0), "swapdims": (0, 1),
}  # fmt: skip


pytestmark = pytest.mark.usefixtures("reference")


def matrix(library: Any = mg) -> Any:
    """2 x 1 x 3 elements for squeeze, a matrix for the others."""
    return mg.arange(6.0, **HERE).reshape(2, 3) if library is mg else library.arange(6.0).reshape(2, 3)


def test_every_form_has_a_call() -> None:
    assert set(CALLS) == set(in_place.VIEWS)


@pytest.mark.parametrize("name", CALLS)
def test_a_tensor_shows_its_memory_in_another_layout(name: str) -> None:
    x, like = matrix(), getattr(matrix(), name)(*CALLS[name])
    row = x[1]
    memory = x.data_ptr()
    assert getattr(x, f"{name}_")(*CALLS[name]) is x
    assert x.shape == like.shape and x.strides == like.strides and x.tolist() == like.tolist()
    x.mul_(2.0)
    assert x.data_ptr() in (memory, memory + 4), "the memory is the same"
    changed = np.arange(6.0)
    changed[np.lib.stride_tricks.as_strided(np.arange(6), x.shape, [8 * s for s in x.strides]) + x.offset] *= 2
    assert row.tolist() == changed[3:].tolist(), "a view that was made before shows its own elements"


@pytest.mark.parametrize("name", CALLS)
def test_with_gradients_the_error_names_the_form_to_write(name: str) -> None:
    w = mg.Var(matrix())
    for x in (w, w[:1], w.detach(), (w * 2.0).detach()):
        before = x.shape
        with pytest.raises(GradientError, match=rf"{name}_: .* write x = x\.{name}\(\.\.\.\)"):
            getattr(x, f"{name}_")(*CALLS[name])
        assert x.shape == before


def test_a_graph_that_saved_the_tensor_reports_it() -> None:
    w, x = mg.Var(matrix()), matrix()
    y = (w * x).sum()
    x.t_()
    with pytest.raises(StorageError, match="changed in place since"):
        y.backward()
    z = (w.t() * x).sum()
    assert z.backward()[w].tolist() == x.t().tolist()


@pytest.mark.torch
def test_gradients_through_a_tensor_that_was_turned_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")

    def run(library: Any) -> list[Any]:
        x = matrix(library)
        row = x[0]
        x.t_()
        values = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        w = library.tensor(values, **(HERE if library is mg else {}))
        w.requires_grad_()
        x.mul_(w)
        (row * row).sum().backward()
        return [x.tolist(), row.tolist(), w.grad.tolist()]

    assert run(mg) == run(torch)


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def test_answers_about_kinds_that_there_are_not(library: str) -> None:
    lib: Any = mg if library == "minigrad" else pytest.importorskip("torch")
    x = lib.ones(2, 3)
    for name in ("is_complex", "is_conj", "is_neg", "is_distributed", "is_shared"):
        assert getattr(x, name)() is False
    for name in ("is_sparse", "is_quantized", "is_nested", "is_mkldnn", "is_xla"):
        assert getattr(x, name) is False
    assert x.conj().tolist() == x.resolve_conj().tolist() == x.real.tolist() == x.tolist()
    assert lib.is_complex(x) is False and lib.is_nonzero(lib.tensor([2.0])) and not lib.is_nonzero(lib.tensor(0))
    assert lib.is_same_size(x, x + 1) and not x.is_same_size(x[0]) and x.is_set_to(x[:]) and not x.is_set_to(x + 0)
    assert x.is_signed() and not x.to(lib.uint8).is_signed() and x.itemsize == 4
    assert x.output_nr == 0 and lib.ones(2, 2, requires_grad=True).unbind(0)[1].dim() == 1
    assert x.dist(lib.zeros(3), 1).item() == 6.0


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def test_diagonals_and_functions_are_written(library: str) -> None:
    lib: Any = mg if library == "minigrad" else pytest.importorskip("torch")
    assert lib.zeros(2, 3).fill_diagonal_(5).tolist() == [[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]]
    tall = lib.zeros(5, 2).fill_diagonal_(1.0, wrap=True).tolist()
    assert tall == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert lib.zeros(5, 2).fill_diagonal_(1.0).sum().item() == 2.0
    cube = lib.zeros(2, 2, 2).fill_diagonal_(3)
    assert cube.sum().item() == 6.0 and cube[0, 0, 0].item() == cube[1, 1, 1].item() == 3.0
    assert lib.tensor([1.0, 2.0]).apply_(lambda v: v * 10).tolist() == [10.0, 20.0]
    assert lib.ones(2, 2).map_(lib.tensor([1.0, 3.0]), lambda a, b: a - b).tolist() == [[0.0, -2.0]] * 2
    assert lib.tensor([-1.0, 2.0]).absolute_().multiply_(3).subtract_(1).clip_(0, 4).tolist() == [2.0, 4.0]


def test_wrong_calls_have_a_sentence() -> None:
    with pytest.raises(ShapeError, match="fill_diagonal_: expected a matrix, or at least 3 dims"):
        mg.ones(2, 2, 3).fill_diagonal_(1)
    with pytest.raises(ArgumentError, match="is_nonzero: expected a tensor of one element"):
        mg.is_nonzero(mg.ones(2))
    assert mg.multiply is mg.mul and mg.newaxis is None


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def test_the_state_of_the_generator_is_stored_and_set(library: str) -> None:
    lib: Any = mg if library == "minigrad" else pytest.importorskip("torch")
    lib.manual_seed(5)
    assert lib.initial_seed() == lib.random.initial_seed() == 5
    lib.rand(3)
    state = lib.get_rng_state()
    first = lib.rand(3).tolist()
    with lib.random.fork_rng():
        lib.rand(2)
        assert lib.seed() == lib.initial_seed()
    lib.set_rng_state(state)
    assert lib.rand(3).tolist() == first and lib.random.get_rng_state().dtype is lib.uint8
    with pytest.raises((ArgumentError, RuntimeError, TypeError)):
        lib.set_rng_state(lib.zeros(16))
    generator = lib.Generator()
    generator.manual_seed(7)
    lib.rand(2, generator=generator)
    twin = generator.clone_state()
    later = lib.Generator()
    assert later.set_state(generator.get_state()) is later
    assert (
        lib.rand(4, generator=twin).tolist()
        == lib.rand(4, generator=generator).tolist()
        == lib.rand(4, generator=later).tolist()
    )
    for make in (lambda: lib.Generator("opengl"), lambda: lib.Generator(device="opengl:0")):
        with pytest.raises((DeviceError, RuntimeError)):
            make()


def test_a_state_counts_through_64_bits_and_in_checkpoints() -> None:
    generator = mg.Generator(2**64 - 1)
    generator.offset = 2**63 + 5
    twin = mg.Generator(0)
    twin.set_state(generator.get_state())
    assert (twin.seed, twin.offset) == (2**64 - 1, 2**63 + 5)


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_dtype_answers_what_it_is(library: str) -> None:
    lib: Any = mg if library == "minigrad" else pytest.importorskip("torch")
    floats, ints = (lib.float16, lib.bfloat16, lib.float32, lib.float64), (lib.uint8, lib.int8, lib.int64, lib.bool)
    assert all(d.is_floating_point and d.is_signed for d in floats) and not any(d.is_floating_point for d in ints)
    assert not any(d.is_complex for d in (*floats, *ints)) and lib.float16.to_real() is lib.float16
    assert [d.itemsize for d in (*floats, *ints)] == [2, 2, 4, 8, 1, 1, 8, 1]


def test_dtypes_of_results() -> None:
    assert mg.result_type(mg.ones(2, dtype="float16"), 2.5) is mg.float16
    assert mg.result_type(3.5, mg.tensor([1])) is mg.float32 is mg.promote_types(mg.float32, mg.int64)
    assert mg.result_type(mg.ones(2), mg.tensor(1.0, dtype="float64")) is mg.float32
    assert [mg.result_type(*two) for two in ((True, False), (True, 2), (1, 2.0))] == [mg.bool, mg.int64, mg.float32]
    with pytest.raises(mg.DTypeError, match="got 'a', a str"):
        mg.result_type(1, "a")


def test_a_cast_is_possible_to_the_same_kind_and_to_a_wider_one() -> None:
    ordered = (("bool",), ("uint8", "int8", "int64"), ("float16", "bfloat16", "float64"))
    for k, kind in enumerate(ordered):
        for j, other in enumerate(ordered):
            assert all(mg.can_cast(mg.as_dtype(a), b) is (k <= j) for a in kind for b in other)
    assert mg.can_cast(from_=mg.float64, to=mg.float16)

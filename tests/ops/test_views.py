"""Properties that only views have: the memory that they share with their operand."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from cases import over
from op_table import DEVICES

import minigrad as mg
from minigrad.errors import GradientError, IndexOutOfRange, ShapeError, StorageError

devices = pytest.mark.parametrize("device", DEVICES)


@devices
def test_as_strided_has_no_gradient_beyond_its_operand(device: str) -> None:
    # The storage has 4000 elements, the operand ten of them: its gradient has ten places as well.
    part = (mg.Var(np.zeros(4000), device=device) * 1.0)[:10]
    with pytest.raises(GradientError, match=r"as_strided: .*outside float64\(10,\)"):
        part.as_strided((3000,), (1,))
    assert part.detach().as_strided((3000,), (1,)).shape == (3000,)


@pytest.mark.parametrize(
    ("shape", "view", "size", "stride", "offset"),
    [
        ((5,), lambda x: x.expand(5, 5), (5, 5), (0, 1), 0),
        ((2, 3), lambda x: x.expand(10, 2, 3), (2, 3), (3, 1), 0),
        ((4,), lambda x: x[1:2].expand(3), (2, 2), (0, 0), None),
        ((35,), lambda x: x.unfold(0, 3, 1), (6, 6), (5, 1), 2),
        ((9,), lambda x: x.as_strided((3, 3), (1, 2), 1), (5,), (1,), 1),
        ((2, 3), lambda x: x.T.expand(4, 3, 2), (3, 2), (1, 3), None),
    ],
)
def test_as_strided_of_repeated_elements_has_the_gradient_of_their_memory(
    shape: Any, view: Any, size: Any, stride: Any, offset: Any
) -> None:
    x = mg.Var(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape), device="reference")

    def strided(x: Any) -> Any:
        return view(x).as_strided(size, stride, offset)

    assert mg.testing.gradcheck(strided, x)
    assert mg.testing.gradcheck(lambda x: mg.grad((strided(x) ** 3).sum(), x, create_graph=True), x)


@devices
def test_as_strided_of_a_stretched_cotangent_stays_in_its_memory(device: str) -> None:
    # d/dw sum(w * x.as_strided(...)) by x is w put back; the cotangent of that is one number, stretched to 12.
    x = mg.Var(np.arange(12.0), device=device)
    w = mg.Var(np.arange(6.0).reshape(3, 2), device=device)
    total = (x.as_strided((3, 2), (4, 1), 1) * w).sum()
    (g,) = mg.grad(total, [x], create_graph=True)
    assert g.tolist() == [0, 0, 1, 0, 0, 2, 3, 0, 0, 4, 5, 0]
    assert mg.grad(g.sum(), w, retain_graph=True).tolist() == [[1, 1], [1, 1], [1, 1]]
    cotangent = mg.tensor(np.arange(24.0), device=device)[12:]  # dense, but not from offset 0 on
    assert mg.grad(g, w, grad_outputs=cotangent).tolist() == [[13, 14], [17, 18], [21, 22]]


def test_the_gradient_of_a_view_of_all_elements_in_order_is_a_view() -> None:
    def gradient(view) -> tuple[str, list[float]]:
        x = mg.Var([[1.0], [2.0], [3.0]])
        y = view(x)
        g = mg.Var(np.arange(1.0, 1.0 + y.numel()).reshape(y.shape), dtype="float32")
        found = mg.grad(y, x, grad_outputs=g, create_graph=True)
        return found.op.op.name, found.flatten().tolist()

    for view in (lambda x: x[None, :, 0], lambda x: x.narrow(0, 0, 3), lambda x: x.select(1, 0), lambda x: x[0:]):
        name, values = gradient(view)
        assert name != "put_back" and values == [1.0, 2.0, 3.0]
    assert gradient(lambda x: x[::-1]) == ("put_back", [3.0, 2.0, 1.0])
    assert gradient(lambda x: x.narrow(0, 0, 2)) == ("put_back", [1.0, 2.0, 0.0])
    assert gradient(lambda x: x.unfold(0, 2, 1)) == ("put_back", [1.0, 2.0 + 3.0, 4.0])
    assert gradient(lambda x: x.as_strided((3,), (0,))) == ("put_back", [1.0 + 2.0 + 3.0, 0.0, 0.0])


def test_chunks_of_an_empty_dim_are_as_many_as_asked_for() -> None:
    left, right = mg.zeros(3, 0).chunk(2, 1)
    assert left.shape == right.shape == (3, 0)
    assert [c.shape for c in mg.zeros(5).chunk(4)] == [(2,), (2,), (1,)]


@pytest.mark.parametrize("again", range(3))  # what was asked for before is found by another way
def test_shapes_that_were_asked_for_before_give_what_they_gave_the_first_time(again: int) -> None:
    x = mg.Var(np.arange(6.0).reshape(2, 3))
    assert x.view(2, 3) is not x and x.view((2, 3)).op.op.label == "view"
    assert x.reshape(2, 3) is x and x.reshape((2, 3)) is x and x.reshape([2, 3]) is x
    assert x.view(3, -1).shape == x.view([3, -1]).shape == x.reshape(-1, 2).shape == (3, 2)
    assert x.flatten().tolist() == x.mT.flatten().view(3, 2).mT.flatten().tolist() == list(range(6))
    for refused in ((4, -1), (7,), (-1, -1)):
        with pytest.raises(mg.ShapeError):
            x.view(*refused)
    with pytest.raises(mg.ShapeError):
        x.mT.view(6)
    for refused in ((6.0,), ("6",)):
        with pytest.raises(mg.ArgumentError):
            x.view(*refused)
    with pytest.raises(mg.ArgumentError):
        x.flatten(0.0, -1)
    with pytest.raises(mg.IndexOutOfRange):
        mg.tensor(1.0).flatten(5)
    assert mg.tensor(1.0).flatten(-1, 0).shape == (1,)
    assert x.reshape(np.int64(3), np.int64(-1)).shape == x.view(np.int64(3), 2).shape == (3, 2)
    assert [v.op.op.label for v in (x.t(), x.mT, x.T)] == ["permute"] * 3
    assert mg.zeros(2, 0, 3).flatten().shape == (0,) and mg.tensor(1.0).flatten().shape == (1,)
    (g,) = mg.grad((x.view(6) * mg.arange(6, dtype=mg.float64)).sum() + x.t().flatten().sum(), [x])
    assert g.tolist() == [[1, 2, 3], [4, 5, 6]]


SOURCES = {
    "data": lambda x: x,
    "an op": lambda x: x * 2.0,
    "empty": lambda x: mg.empty(4, device=x.device),
    "a clone": lambda x: x.clone(),
    "a view": lambda x: x[1:3],
    "a flipped view of a view": lambda x: x[1:].flip(0),
    "detached": lambda x: x.detach(),
    ".data": lambda x: x.data,
    "a reduction": lambda x: x.reshape(4, 1).sum(1),
    "a sort": lambda x: x.sort()[0],
    "cat": lambda x: mg.cat([x[:2], x[2:]]),
    "halves": lambda x: x.to("float16"),
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "from_numpy": lambda x: mg.from_numpy(np.arange(4.0)[::-1]),
    "from_dlpack": lambda x: mg.from_dlpack(np.arange(4.0)),
}


@over("source", SOURCES)
def test_as_strided_sees_the_elements_of_the_storage_and_none_behind_them(source: str) -> None:
    x = SOURCES[source](mg.tensor([1.0, 2.0, 3.0, 4.0], device="reference"))
    assert x.storage.numel == len(x.storage) == 4
    assert x.as_strided((4,), (1,), 0).shape == (4,) and x.as_strided((2,), (-3,), 3).shape == (2,)
    outside = [((6,), (1,), 0), ((2,), (4,), 0), ((1,), (1,), 4), ((2,), (-1,), 0), ((2, 2), (3, 1), 0)]
    for size, stride, offset in outside:
        with pytest.raises(StorageError, match=r"inside the storage of .*, which has 4 elements"):
            x.as_strided(size, stride, offset)
    with pytest.raises(IndexOutOfRange, match="index must be from -4 to 3 for 4 elements, got 4"):
        x.storage[4]


def test_the_storage_of_one_number_or_of_none_has_no_more_elements() -> None:
    x = mg.tensor(1.0, device="reference")
    assert (x.storage.numel, x.exp().storage.numel, mg.empty(0, device="reference").storage.numel) == (1, 1, 0)


def test_strides_over_a_transposed_tensor_have_a_gradient() -> None:
    x = mg.Var([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device="reference")
    y = x.T.as_strided((2, 2), (1, 2), 1)
    assert y.tolist() == [[2.0, 4.0], [3.0, 5.0]] and y.storage is x.storage
    assert mg.grad((y * mg.tensor([[1.0, 2.0], [3.0, 4.0]], device="reference")).sum(), x).tolist() == [
        [0.0, 1.0, 3.0], [2.0, 4.0, 0.0],
    ]  # fmt: skip


def test_a_dim_of_length_0_splits_into_parts_of_length_0() -> None:
    assert [part.shape for part in mg.zeros(0, 3, device="reference").split(0)] == [(0, 3)]
    with pytest.raises(mg.ArgumentError, match="must be positive"):
        mg.zeros(2, 3, device="reference").split(0)


def test_a_write_into_a_view_beside_its_operand_is_recorded_by_no_graph() -> None:
    w = mg.Var(np.ones(12), device="reference") * 2
    beside = w[2:10:2].as_strided((2, 2), (2, 1))
    with pytest.raises(GradientError, match=r"mul_: .*shows memory beside its operand"):
        beside.mul_(3)
    with mg.no_grad():
        w[2:10:2].as_strided((2, 2), (2, 1)).mul_(1)


def test_gaps_are_refused_inside_a_transform_and_the_tensor_is_named() -> None:
    x = mg.tensor(np.arange(16.0).reshape(2, 8), device="reference")
    with pytest.raises(GradientError, match=r"inside a transform, the operand must have no gaps"):
        mg.func.vmap(lambda row: row[::2].as_strided((2,), (2,)))(x)
    part = mg.Var(x)[:, ::2]
    with pytest.raises(GradientError, match=r"outside float64\(2, 4\)"):
        part.as_strided((16,), (1,))


def test_a_view_with_another_dtype_has_the_same_bits() -> None:
    x = mg.tensor([1.0, 2.0], device="reference")
    bits = x.view(dtype=mg.int32)
    assert bits.tolist() == [1065353216, 1073741824] and bits.view(mg.float32).tolist() == [1.0, 2.0]
    bits[0] = 0
    assert x.tolist() == [0.0, 2.0] and x.untyped_storage().size() == 8
    assert x.view(mg.uint8).tolist() == [0, 0, 0, 0, 0, 0, 0, 64]
    words = mg.arange(8, dtype=mg.int16, device="reference").reshape(2, 4)
    assert words[1:].view(mg.int32).tolist() == [[4 + 5 * 2**16, 6 + 7 * 2**16]]
    for wrong in (words.mT, words[:, 1:3], words[:, :3], words[0, 0]):
        with pytest.raises(ShapeError, match="view: x must have a last dim without gaps"):
            wrong.view(mg.int32)


def test_a_write_into_the_bits_of_a_saved_value_is_detected() -> None:
    y = (mg.Var([1.0], device="reference") * 2.0).exp()
    assert not y.view(mg.int32).requires_grad
    y.view(mg.int32).zero_()
    with pytest.raises(GradientError, match="changed in place"):
        y.backward()

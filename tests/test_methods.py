"""Names: every op is a method, an operator where Python has one, in place, and under candle's and NumPy's names."""

from __future__ import annotations

import inspect
import operator
from pathlib import Path
from typing import Any

import pytest
from cases import over

import minigrad as mg
from minigrad.api.aliases import ALIASES
from minigrad.declare import names

pytestmark = pytest.mark.usefixtures("float64")

NAMES = Path(__file__).parents[1] / "docs" / "names.md"


def matrix() -> Any:
    return mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@over("name", sorted(names.methods))
def test_every_method_is_a_function_of_the_same_name_or_a_method_only(name: str) -> None:
    method = inspect.getattr_static(mg.Tensor, name)
    assert method.__doc__
    if name in ("sum_to", "to") or name.endswith("_"):  # these make sense for a given tensor only
        assert not hasattr(mg, name)
    else:
        assert (getattr(mg, name, None) or getattr(mg.nn.functional, name)) is method


@pytest.mark.usefixtures("reference")
def test_methods_take_the_keywords_of_pytorch() -> None:
    x = matrix()
    parts = [[[1.0, 2.0], [4.0, 5.0]], [[3.0], [6.0]]]
    for split in (
        x.split(split_size=2, dim=1),
        x.split([2, 1], axis=1),
        x.split(2, 1),
        mg.split(x, split_size_or_sections=2, dim=1),
        mg.split(tensor=x, split_size_or_sections=[2, 1], axis=1),
    ):
        assert [part.tolist() for part in split] == parts  # fmt: skip
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    for shaped in (
        x.reshape(shape=(3, 2)),
        x.reshape(shape=[3, -1]),
        mg.reshape(x, shape=(3, 2)),
        x.view(size=(3, 2)),
        mg.reshape(input=x, shape=x.mT.shape),
    ):
        assert shaped.tolist() == rows  # fmt: skip
    assert mg.tensor(2.0).reshape(shape=()).shape == mg.ones(1).view(size=()).shape == ()


@pytest.mark.parametrize(("method", "keyword"), [("reshape", "shape"), ("view", "size")])
def test_a_shape_is_given_once_and_as_a_sequence(method: str, keyword: str) -> None:
    function = getattr(mg.ones(6, device="reference"), method)
    for sizes, given in (((2, 3), (2, 3)), ((), 6), (((6,),), (6,))):
        with pytest.raises(mg.ArgumentError, match=rf"{method}: expected sizes, or {keyword}= with a tuple .*write"):
            function(*sizes, **{keyword: given})


@over("alias", sorted(ALIASES))
def test_an_alias_is_the_same_object_and_is_documented(alias: str) -> None:
    assert inspect.getattr_static(mg.Tensor, alias) is inspect.getattr_static(mg.Tensor, ALIASES[alias])
    assert f"`{alias}`" in NAMES.read_text()


def test_candles_names_that_take_other_arguments() -> None:
    x = matrix()
    assert x.sum_keepdim(1).tolist() == [[6.0], [15.0]]
    assert x.mean_keepdim((0, 1)).tolist() == [[3.5]]
    assert [t.tolist() for t in x.max_keepdim(1)] == [[[3.0], [6.0]], [[2], [2]]]
    assert x.argmin_keepdim(0).tolist() == [[0, 0, 0]]
    assert x.flatten_to(1).shape == x.flatten_from(0).shape == x.flatten_all().shape == (6,)
    assert x.get(1).tolist() == x.get_on_dim(0, 1).tolist() == x.i(1).tolist() == [4.0, 5.0, 6.0]
    assert (x > 3.0).where_cond(x, x * 0.0).tolist() == [[0.0, 0.0, 0.0], [4.0, 5.0, 6.0]]
    assert x.to_vec2() == x.tolist() and x.sum_all().to_vec0() == 21.0 and x.elem_count() == 6
    assert x.dims == (2, 3) and x.rank == 2 and x.strides == (3, 1) and x.dim(1) == 3
    assert mg.arange_step(0, 5, 2).tolist() == [0, 2, 4]
    assert x.to_dtype(mg.f64).dtype is mg.float64
    assert x.broadcast_add(mg.tensor([10.0, 20.0, 30.0])).tolist() == [[11.0, 22.0, 33.0], [14.0, 25.0, 36.0]]
    assert x.affine(2.0, 1.0).get(0).tolist() == [3.0, 5.0, 7.0]


def test_what_users_of_pytorch_ask_a_tensor() -> None:
    x = mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype="f64", device="reference")
    assert x.dim() == x.ndimension() == x.ndim == 2 and x.size() == (2, 3) and x.size(-1) == x.dim(-1) == 3
    assert x.stride() == (3, 1) and x.stride(0) == 3 and x.T.stride() == (1, 3) and x[1, 1:].storage_offset() == 4
    assert x.numel() == x.nelement() == 6 and x.element_size() == 8 and x.nbytes == 48 and x[0].nbytes == 24
    assert x.is_floating_point() and not x.long().is_floating_point() and not x.is_cuda and x.is_leaf
    assert x.type() == "float64" and x.type(mg.int64).type() == "int64" and x.type("float64") is x
    assert [row.tolist() for row in x.unbind()] == x.tolist()
    assert [column.tolist() for column in x.unbind(-1)] == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]


def test_as_another_tensor() -> None:
    x = mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device="reference")
    other = mg.tensor([[1, 2], [3, 4], [5, 6]], device="reference")
    assert x.view_as(other).storage is x.storage and x.T.reshape_as(x).tolist() == [[1.0, 4.0, 2.0], [5.0, 3.0, 6.0]]
    assert mg.tensor([7.0, 8.0], device="reference").expand_as(other).tolist() == [[7.0, 8.0]] * 3
    assert x.type_as(other).dtype is mg.int64 and x.type_as(x) is x
    here = x.cpu()
    assert str(here.device) == "cpu" and here.tolist() == x.tolist() and here.cpu() is here
    assert str(here.type_as(other).device) == "reference"


def test_a_new_tensor_is_like_the_one_that_made_it() -> None:
    x = mg.tensor([1, 2], dtype="int16", device="reference")
    made = {
        "zeros": x.new_zeros(2, 1), "ones": x.new_ones((2, 1)), "full": x.new_full((2, 1), 7),
        "tensor": x.new_tensor([[3], [4]]), "empty": x.new_empty([2, 1]),
    }  # fmt: skip
    assert {(y.shape, y.dtype, y.device) for y in made.values()} == {((2, 1), x.dtype, x.device)}
    values = [made[name].tolist() for name in ("zeros", "ones", "full", "tensor")]
    assert values == [[[0], [0]], [[1], [1]], [[7], [7]], [[3], [4]]]
    leaf = x.new_zeros(3, dtype=mg.float64, device="cpu", requires_grad=True)
    assert isinstance(leaf, mg.Var) and leaf.dtype is mg.float64 and str(leaf.device) == "cpu"


def test_a_gradient_passes_through_what_is_seen_as_another() -> None:
    x = mg.Var([[1.0, 2.0], [3.0, 4.0]], device="reference")
    first, second = x.unbind(1)
    y = (first * 2.0 + second.view_as(first)).expand_as(x).sum()
    assert mg.grad(y, x).tolist() == [[4.0, 2.0], [4.0, 2.0]]


def test_requires_grad_is_told_and_set() -> None:
    x, v = mg.tensor([1.0]), mg.Var([1.0])
    for tensor, wanted in ((x, False), (v, True), (x, True), (v, False)):
        tensor.requires_grad = wanted
        assert tensor.requires_grad is tensor.is_variable is wanted and tensor.is_leaf


def test_write_through_views() -> None:
    x: Any = mg.zeros(3, 4)
    x.const_set(42.0)
    x[:, 2].const_set(1337.0)
    x[2, :].one_set()
    assert x.tolist() == [[42.0, 42.0, 1337.0, 42.0]] * 2 + [[1.0, 1.0, 1.0, 1.0]]
    x.slice_set(mg.tensor([[7.0], [8.0], [9.0]]), 1, 3)
    assert x[:, 3].tolist() == [7.0, 8.0, 9.0]
    x[0].zero_set()
    assert x[0].tolist() == [0.0] * 4


def test_operators_and_their_reflections() -> None:
    x = mg.tensor([1.0, 2.0, 4.0], device="reference")
    assert (2 - x).tolist() == [1.0, 0.0, -2.0] and (8 / x).tolist() == [8.0, 4.0, 2.0]
    assert (2**x).tolist() == [2.0, 4.0, 16.0] and (7 // x).tolist() == [7.0, 3.0, 1.0]
    assert (5 % x).tolist() == [0.0, 1.0, 1.0] and (-x).tolist() == [-1.0, -2.0, -4.0]
    n = mg.tensor([1, 2, 4], device="reference")
    assert (n & 6).tolist() == [0, 2, 4] and (n | 1).tolist() == [1, 3, 5] and (~n).tolist() == [-2, -3, -5]
    assert (~(x > 1.0)).tolist() == [True, False, False]
    before = x
    x += 1.0
    assert x is before and x.tolist() == [2.0, 3.0, 5.0]
    assert (x == "x") is False and x in [x]


def test_a_tensor_in_pythons_places() -> None:
    x = matrix()
    assert len(x) == 2 and [row.tolist() for row in x] == x.tolist()
    assert float(x[0, 0]) == 1.0 and int(x[1, 2]) == 6 and bool(x[0, 1] > 1.0)
    assert [10, 20, 30][mg.tensor(1)] == 20
    assert {x: "kept"}[x] == "kept"


def test_where_keeps_the_tensor_where_the_condition_holds() -> None:
    x, y = mg.tensor([1.0, 2.0]), mg.tensor([10.0, 20.0])
    condition = mg.tensor([True, False])
    assert x.where(condition, y).tolist() == mg.where(condition, x, y).tolist() == [1.0, 20.0]
    assert condition.where_cond(x, y).tolist() == [1.0, 20.0]
    assert condition.where(mg.tensor([False, True]), mg.tensor([True, True])).tolist() == [True, False]


def test_the_commonest_exponents_take_the_shorter_op() -> None:
    x = mg.Var([1.0, -2.0, 0.5], device="reference")
    assert [(x**n).op.name for n in (2, 2.0, -1, 0.5, 3, mg.tensor(2.0, device="reference"))] == [
        "square", "square", "reciprocal", "sqrt", "pow", "pow",
    ]  # fmt: skip
    assert (x**2).tolist() == [1.0, 4.0, 0.25] == mg.pow(x, 2).tolist()
    assert (mg.tensor([2, 3], device="reference") ** 2).tolist() == [4, 9]
    assert mg.grad((x**2).sum(), x).tolist() == [2.0, -4.0, 1.0]


def test_the_first_argument_is_called_input_as_in_pytorch() -> None:
    functional, x = mg.nn.functional, matrix()
    for name in "relu sigmoid silu tanh logsigmoid elu gelu leaky_relu relu6 softplus".split():
        assert getattr(functional, name)(input=x).tolist() == getattr(functional, name)(x).tolist()
    for name in ("softmax", "log_softmax", "softmin"):
        assert getattr(functional, name)(input=x, dim=1).tolist() == getattr(functional, name)(x, 1).tolist()
    assert mg.exp(input=x).tolist() == x.exp().tolist()


@pytest.mark.parametrize(
    "name", "autograd cuda func nn nn.functional rules testing viz autograd.functional autograd.graph".split()
)
def test_completion_shows_the_public_names_of_a_module_only(name: str) -> None:
    module = operator.attrgetter(name)(mg)
    shown = dir(module)
    assert "annotations" not in shown and not [each for each in shown if each.startswith("_")]
    for each in shown:
        value = getattr(module, each)
        assert getattr(value, "__module__", "minigrad").startswith("minigrad"), f"mg.{name}.{each} is not of minigrad"
        if inspect.ismodule(value):
            assert each in module.__all__

"""The in-place forms: those of the public names, with their arguments, defaults, checks and errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from cases import over

import minigrad as mg
from minigrad.api import in_place
from minigrad.api.aliases import ALIASES
from minigrad.core.dtype import category
from minigrad.declare import names
from minigrad.errors import ArgumentError, DTypeError, GradientError, ShapeError, StorageError

WRITERS = sorted(names.in_place)
WRITTEN_OTHERWISE = {"apply_", "copy_", "detach_", "fill_", "fill_diagonal_", "map_", "masked_fill_", "requires_grad_",
                     "resize_", "resize_as_", "set_", "share_memory_", "zero_",
                     *(function.__name__ for function in in_place.FUNCTIONS),
                     *(f"{alias}_" for alias, name in ALIASES.items() if name in names.in_place)}  # fmt: skip
TWINS = ("_with", "_along", "_exact", "_between", "_nd")
# Names of PyTorch that look like those of inner ops.
PYTORCHS = {"constant_pad_nd", "split_with_sizes", "split_with_sizes_copy", "take_along_dim", "unsafe_split_with_sizes",
            "triplet_margin_with_distance_loss", "binary_cross_entropy_with_logits",
            *(name for name in dir(mg.nn.functional) if name.endswith("_with_indices"))}  # fmt: skip


def tensor(data: Any, dtype: Any = None) -> Any:
    return mg.tensor(data, dtype, "reference")


def test_no_public_name_is_that_of_an_inner_op() -> None:
    names = {*dir(mg.Tensor), *dir(mg), *dir(mg.Var), *dir(mg.nn.functional)} - PYTORCHS
    assert [n for n in names if not n.startswith("_") and n.rstrip("_").endswith(TWINS)] == []
    assert [n for n in names if any(f"{twin}_" in n for twin in TWINS[:4])] == []


def test_every_in_place_form_is_that_of_a_public_function() -> None:
    found = {n for n in dir(mg.Tensor) if n.endswith("_") and n[0] != "_" and hasattr(mg.Tensor, n)}
    assert found - WRITTEN_OTHERWISE == {f"{name}_" for name in WRITERS}
    assert {"clamp_", "elu_", "gelu_", "leaky_relu_", "relu6_", "softplus_", "add_", "exp_"} <= found


@over("name", WRITERS)
def test_an_in_place_form_takes_what_the_function_takes(name: str) -> None:
    function = getattr(mg, name, None) or getattr(mg.nn.functional, name)
    method = getattr(mg.Tensor, f"{name}_")
    taken = [str(p) for p in inspect.signature(function).parameters.values() if p.name not in ("out", "inplace")]
    assert [str(p) for p in inspect.signature(method).parameters.values()] == taken
    assert (
        method.__name__ == method.__qualname__ == f"{name}_"
        and f"Apply `{name}` in place, and record it" in method.__doc__
    )


X = [-2.0, -0.5, 0.0, 0.5, 3.0, 9.0]
CALLS: dict[str, Callable[[Any, str], Any]] = {
    "gelu": lambda x, end: getattr(x, "gelu" + end)(),
    "gelu-tanh": lambda x, end: getattr(x, "gelu" + end)(approximate="tanh"),
    "gelu-tanh-by-place": lambda x, end: getattr(x, "gelu" + end)("tanh"),
    "softplus": lambda x, end: getattr(x, "softplus" + end)(),
    "softplus-2-3": lambda x, end: getattr(x, "softplus" + end)(2.0, threshold=3.0),
    "elu": lambda x, end: getattr(x, "elu" + end)(),
    "elu-alpha": lambda x, end: getattr(x, "elu" + end)(alpha=0.5),
    "leaky_relu": lambda x, end: getattr(x, "leaky_relu" + end)(),
    "leaky_relu-slope": lambda x, end: getattr(x, "leaky_relu" + end)(0.3),
    "relu6": lambda x, end: getattr(x, "relu6" + end)(),
    "clamp": lambda x, end: getattr(x, "clamp" + end)(-1.0, 2.0),
    "clamp-min": lambda x, end: getattr(x, "clamp" + end)(min=0.25),
    "clamp-max": lambda x, end: getattr(x, "clamp" + end)(max=tensor([1.0, 0.0] * 3)),
    "pow": lambda x, end: getattr(x, "pow" + end)(2),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_in_place_gives_the_values_of_the_function_and_is_one_write(call: Any) -> None:
    x = tensor(X)
    wanted, version = call(x, "").tolist(), x.storage.version
    assert call(x, "_") is x and x.tolist() == wanted and x.storage.version == version + 1
    row = tensor([X, X])
    assert call(row[1], "_").tolist() == wanted and row.tolist() == [X, wanted], "through a view"


def test_a_function_writes_into_out() -> None:
    x, y = tensor(X), tensor(X)
    for function in (mg.gelu, mg.softplus, mg.elu, mg.leaky_relu, lambda x, out: mg.clamp(x, 0.0, out=out)):
        assert function(x, out=y) is y and y.tolist() == function(x, out=None).tolist()
    assert x.tolist() == X


WRITES = {
    name: lambda x, name=name: getattr(x, name + "_")(*([0.5] if name in ("clamp", "add") else []))
    for name in ("gelu", "softplus", "elu", "leaky_relu", "clamp", "relu6", "add")
}


@pytest.mark.parametrize("name", WRITES)
def test_an_in_place_form_may_not_write_into_a_leaf_nor_into_shared_memory(name: str) -> None:
    write, leaf = WRITES[name], mg.Var(X, device="reference")
    with pytest.raises(GradientError, match=f"^{name}_: cannot write into a Var"):
        write(leaf)
    with pytest.raises(GradientError, match=f"^{name}_: cannot write into a view of a Var"):
        write(leaf[1:])
    with pytest.raises(StorageError, match=f"^{name}_: .*whose elements share memory"):
        write(tensor(1.0).expand(3))
    assert leaf.tolist() == X and leaf.storage.version == 0
    with mg.no_grad():
        write(leaf)
    assert leaf.storage.version == 1


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_an_operand_that_overlaps_what_is_written_is_read_first(device: str) -> None:
    x, wanted = mg.tensor(X, None, device), [X[0], *map(max, X[1:], X[:-1])]
    x[1:].clamp_(min=x[:-1])
    assert x.tolist() == wanted and x.clamp_(min=x).tolist() == wanted
    y = mg.tensor([[1.0, 2.0], [3.0, 4.0]], None, device)
    y += y.T
    assert y.tolist() == [[2.0, 5.0], [5.0, 8.0]]
    y[:, 1:] = y[:, :1]
    y[0].copy_(y[:, 0])
    assert y.tolist() == [[2.0, 5.0], [5.0, 5.0]]


def test_a_result_of_another_dtype_is_not_squeezed_into_the_tensor() -> None:
    x = tensor([1, 5])
    for write in (lambda: x.clamp_(1.5), lambda: x.gelu_(), lambda: x.elu_(), lambda: x.div_(2)):
        with pytest.raises(
            DTypeError, match=r"^\w+_: the result is .*, and int64\(2,\) is changed in place; no float32 can be"
        ):
            write()
    with pytest.raises(
        DTypeError, match=r"^div_: .* so write x = x / y, or convert .* with \.to\(mg\.float32\) first$"
    ):
        x /= 2
    with pytest.raises(ShapeError, match=r"^add_: .* shapes must agree, so write x = x \+ y$"):
        x += tensor([[1, 2], [3, 4]])
    with pytest.raises(DTypeError, match=r"^div: .*, so pass out=mg\.empty\(\(2,\), dtype=mg\.float32\)$"):
        mg.div(x, 2, out=x)
    assert x.eq_(5).tolist() == [0, 1] and x.dtype is mg.int64
    x.copy_(tensor([1, 5]))
    assert x.clamp_(2, 4).tolist() == [2, 4] and x.relu6_().tolist() == [2, 4]


def test_wrong_arguments_are_those_of_the_function() -> None:
    x = tensor(X)
    with pytest.raises(ArgumentError, match=r"gelu: .* must be 'none' or 'tanh', got 'fast'"):
        x.gelu_("fast")
    with pytest.raises(ArgumentError, match=r"clamp: at least one of min and max"):
        x.clamp_()
    for call in (lambda: x.relu6_(1.0), lambda: x.elu_(beta=1.0), lambda: x.add_(), lambda: x.exp_(out=x)):
        with pytest.raises(TypeError, match="argument"):
            call()
    assert x.tolist() == X and x.storage.version == 0


def test_copy_brings_what_is_on_another_device() -> None:
    x, far = mg.zeros(2), mg.Var([1.0, 2.0], device="reference")
    x.copy_(far * 3.0).sum().backward()
    assert x.tolist() == [3.0, 6.0] and str(x.device) == "cpu" and far.grad.tolist() == [3.0, 3.0]


DTYPES = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")


@over("name", ["add_", "mul_", "floor_divide_", "pow_", "copy_"])
@over("dtypes", [(a, b) for a in DTYPES for b in DTYPES], ids="-".join)
def test_an_operand_of_a_wider_dtype_of_the_same_kind_is_computed_and_cast(name: str, dtypes: tuple[str, str]) -> None:
    x, y = tensor([1, 1, 1]).to(dtypes[0]), tensor([1, 3, 2]).to(dtypes[1])
    function = getattr(mg, name.rstrip("_"), None)
    if dtypes == ("bool", "bool") and name in ("floor_divide_", "pow_"):
        return  # neither is defined for two bools
    wanted = y if function is None else function(x, y)
    if category(wanted.dtype) > category(x.dtype) and name != "copy_":
        with pytest.raises(DTypeError, match=f"no {wanted.dtype} can be stored there"):
            getattr(x, name)(y)
        return
    assert getattr(x, name)(y) is x
    assert str(x.dtype) == dtypes[0] and x.tolist() == wanted.to(dtypes[0]).tolist()


def test_a_result_that_is_cast_into_the_tensor_is_recorded() -> None:
    x, y = mg.Var([1.0, 2.0], device="reference"), mg.Var([3.0, 4.0], dtype="float64", device="reference")
    z = x * 1.0
    z *= y
    assert z.dtype is mg.float32 and z.tolist() == [3.0, 8.0]
    grads = z.sum().backward()
    assert (grads[x].dtype, grads[x].tolist()) == (mg.float32, [3.0, 4.0])
    assert (grads[y].dtype, grads[y].tolist()) == (mg.float64, [1.0, 2.0])


def test_an_out_of_another_dtype_receives_the_result() -> None:
    a, out = tensor([[1.0, 2.0], [3.0, 4.0]]), mg.empty(2, dtype="float64", device="reference")
    assert mg.sum(a, 1, out=out) is out and out.tolist() == [3.0, 7.0]
    mantissas, exponents = mg.empty(2, device="reference"), mg.empty(2, dtype="int32", device="reference")
    mg.frexp(a[:, 0], out=(mantissas, exponents))
    assert (mantissas.tolist(), exponents.tolist()) == ([0.5, 0.75], [1, 2])
    with pytest.raises(DTypeError, match="frexp does not convert its result"):
        mg.frexp(a[:, 0], out=(mantissas.double(), exponents))
    overlapping = tensor([1.0, 1.0, 1.0])
    overlapping[1:] += overlapping[:2].double()
    assert overlapping.tolist() == [1.0, 2.0, 2.0]
    assert mg.mul(a, 2.0, out=mg.empty(2, 2, dtype="bfloat16", device="reference")).tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_out_takes_the_shape_of_the_result_unless_it_is_an_operand() -> None:
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    calls = (
        lambda out: mg.add(x, 1.0, out=out), lambda out: mg.sum(x, 0, out=out), lambda out: mg.matmul(x, x, out=out),
        lambda out: mg.logsumexp(x, 1, out=out), lambda out: mg.stack([x, x], out=out),
        lambda out: mg.eye(3, device="reference", out=out),
    )  # fmt: skip
    for call in calls:
        empty, small = mg.empty(0, device="reference"), mg.zeros(1, device="reference")
        assert call(empty) is empty and empty.tolist() == call(None).tolist()
        with pytest.warns(UserWarning, match=r"out is float32\(1,\) and was resized to the shape"):
            assert call(small).tolist() == empty.tolist()
    results = mg.empty(0, device="reference"), mg.empty(0, dtype="int64", device="reference")
    mg.max(x, 0, out=results)
    assert (results[0].tolist(), results[1].tolist()) == ([3.0, 4.0], [1, 1])
    base = mg.zeros(4, device="reference")
    view = base[:0]
    mg.exp(x, out=view)
    assert view.shape == (2, 2) and base.tolist() == [0.0] * 4  # the elements of other views stay as they are
    for write in (lambda v: mg.add(v, x, out=v), lambda v: v.clamp_(x), lambda v: v.mul_(x), lambda v: v.copy_(x)):
        with pytest.raises(ShapeError):
            write(mg.zeros(2, device="reference"))

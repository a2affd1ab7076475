"""Every form of a call returns the result of the functional form: `out=`, in place, by keyword, explicit defaults.

The test reads the functions from the namespaces, so it includes every new function, and fails if it has no arguments.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cases import over
from op_rows.row import DOMAINS
from op_support import arrays
from op_table import ROWS
from selection import over_rows

import minigrad as mg
from minigrad.declare import names
from minigrad.declare.bodies import DTYPE_FROM_OUT
from minigrad.errors import ArgumentError, DeviceError, DTypeError, MinigradError, StorageError

X, Y = (2, 3), (3, 2)
ABOVE = np.array([[0.5, 1.5, 2.5], [3.0, 0.3, 8.0]])
POSITIONS = np.array([1, 0])
COLUMNS = np.array([[1, 0, 1], [0, 0, 1]])
SQUARE = np.array([[4.0, 1.0], [1.0, 2.0]])
MASK = np.array([[True, False, True], [False, True, True]])

# Operands as shapes or arrays, in the order of the parameters, and the values of parameters without a default.
CALLS: dict[str, dict[str, Any]] = {
    "scatter_add": {"input": X, "dim": 0, "index": COLUMNS, "src": X},
    "scatter_reduce": {"input": X, "dim": 0, "index": COLUMNS, "src": X, "reduce": "amax"},
    "gather": {"input": X, "dim": 0, "index": COLUMNS},
    "index_select": {"input": X, "dim": 0, "index": POSITIONS},
    "index_add": {"input": X, "dim": 0, "index": POSITIONS, "source": X},
    "index_copy": {"input": X, "dim": 0, "index": POSITIONS, "source": X},
    "clamp": {"input": X, "min": -0.5, "max": 0.5},
    "cat": {"tensors": [X, X]}, "stack": {"tensors": [X, X]},
    "logsumexp": {"input": X, "dim": 1},
    "nonzero": {"input": X}, "masked_select": {"input": X, "mask": MASK},
    "where": {"condition": MASK, "input": X, "other": X},
    "lerp": {"input": X, "end": X, "weight": X},
    "slice_scatter": {"input": X, "src": (1, 3), "start": 1},
    "topk": {"input": X, "k": 2}, "kthvalue": {"input": X, "k": 2}, "median": {"input": X, "dim": 1},
    "max": {"input": X, "dim": 1}, "min": {"input": X, "dim": 1},
    "matmul": {"input": X, "other": Y}, "mm": {"input": X, "mat2": Y}, "mv": {"input": X, "vec": (3,)},
    "dot": {"input": (3,), "tensor": (3,)}, "outer": {"input": (3,), "vec2": (2,)},
    "bmm": {"input": (2, 2, 3), "mat2": (2, 3, 2)},
    "addmm": {"input": (2, 2), "mat1": X, "mat2": Y},
    "baddbmm": {"input": (2, 2, 2), "batch1": (2, 2, 3), "batch2": (2, 3, 2)},
    "addmv": {"input": (2,), "mat": X, "vec": (3,)},
    "cholesky": {"A": SQUARE}, "solve_triangular": {"A": SQUARE, "B": X, "upper": True},
    **{name: {"A": SQUARE} for name in ("lu", "lu_factor", "lu_factor_ex", "inv", "inv_ex", "qr", "eigh", "eigvalsh",
                                     "eig", "eigvals",
                                     "svdvals", "pinv", "matrix_rank", "det", "slogdet", "svd", "cond", "cholesky_ex")},
    **{name: {"input": SQUARE} for name in ("logdet", "inverse", "pinverse", "matrix_exp")},
    "view_as_complex_copy": {"input": (3, 2)}, "view_as_real_copy": {"input": np.array([1 + 2j, 3j])},
    "tensorinv": {"A": SQUARE, "ind": 1}, "tensorsolve": {"A": SQUARE, "B": np.array([1.0, 2.0])},
    **{name: {"A": SQUARE, "B": X} for name in ("solve", "solve_ex", "lstsq")},
    "cholesky_solve": {"input": X, "input2": SQUARE}, "cholesky_inverse": {"input": SQUARE},
    "lu_unpack": {"LU_data": SQUARE, "LU_pivots": np.array([1, 2], np.int32)}, "geqrf": {"input": X},
    "householder_product": {"A": Y, "tau": (2,)}, "orgqr": {"input": Y, "input2": (2,)},
    "ormqr": {"input": Y, "input2": (2,), "input3": Y},
    "lu_solve": {"LU": SQUARE, "pivots": np.array([1, 2], np.int32), "B": X},
    "linear": {"input": X, "weight": (4, 3), "bias": (4,)},
    "cast": {"input": X, "dtype": mg.float64},
    **{name: {"tensors": [X, X]} for name in ("hstack", "vstack", "row_stack", "dstack", "column_stack")},
    "take_along_dim": {"input": X, "indices": COLUMNS, "dim": 0},
    "permute_copy": {"input": X, "dims": [1, 0]}, "expand_copy": {"input": X, "size": [4, 2, 3]},
    "view_copy": {"input": X, "size": [3, 2]}, "transpose_copy": {"input": X, "dim0": 0, "dim1": 1},
    "narrow_copy": {"input": X, "dim": 1, "start": 1, "length": 1}, "select_copy": {"input": X, "dim": 1, "index": 0},
    "unfold_copy": {"input": X, "dimension": 1, "size": 2, "step": 1}, "split_copy": {"input": X, "split_size": 1},
    "as_strided_copy": {"input": X, "size": [2, 2], "stride": [1, 2]},
    "split_with_sizes_copy": {"input": X, "split_sizes": [1, 1]},
    "zeta": {"input": np.array([[2, 3, 2], [3, 2, 4]]), "other": ABOVE},
    "polygamma": {"n": 2, "input": ABOVE}, "mvlgamma": {"input": X, "p": 2}, "multigammaln": {"input": X, "p": 2},
    "searchsorted": {"sorted_sequence": np.array([-1.0, 0.0, 1.0]), "input": X},
    "bucketize": {"input": X, "boundaries": np.array([-1.0, 0.0, 1.0])},
    "inner": {"input": X, "other": X}, "vdot": {"input": (3,), "other": (3,)},
    "cross": {"input": (3, 3), "other": (3, 3)},
    "tensordot": {"a": X, "b": Y, "dims": 1}, "addr": {"input": X, "vec1": (2,), "vec2": (3,)},
    "addbmm": {"input": (2, 2), "batch1": (2, 2, 3), "batch2": (2, 3, 2)},
    "nonzero_static": {"input": X, "size": 4},
    "renorm": {"input": X, "p": 2, "dim": 0, "maxnorm": 0.5}, "multi_dot": {"tensors": [X, Y, X]},
    "matrix_power": {"A": (3, 3), "n": 3}, "quantile": {"input": X, "q": 0.3}, "nanquantile": {"input": X, "q": 0.3},
    "take": {"input": X, "index": COLUMNS}, "scatter": {"input": X, "dim": 0, "index": COLUMNS, "src": X},
    "index_fill": {"input": X, "dim": 0, "index": POSITIONS, "value": 2.0}, "nanmedian": {"input": X, "dim": 1},
    "index_put": {"input": X, "indices": [POSITIONS], "values": X}, "histogram": {"input": X, "bins": 3},
    "put": {"input": X, "index": COLUMNS, "source": X},
    "index_reduce": {"input": X, "dim": 0, "index": POSITIONS, "source": X, "reduce": "prod"},
}  # fmt: skip
MAKERS = {
    "full": {"size": X, "fill_value": 2.0}, "empty": None, "zeros": {"size": X}, "ones": {"size": X},
    "arange": {"start": 0, "end": 6}, "linspace": {"start": 0, "end": 1, "steps": 6}, "eye": {"n": 3},
    "logspace": {"start": 0, "end": 1, "steps": 6}, "fftfreq": {"n": 6}, "rfftfreq": {"n": 6},
}  # fmt: skip
DRAWS = {"rand", "randn", "normal", "randint", "randperm", "uniform", "bernoulli", "multinomial"}


def functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions that have `out=`, by name."""
    entered = [entry for space in names.namespaces.values() for entry in space.items()]
    found = {name: f for name, f in entered if "out" in inspect.signature(f).parameters}
    return dict(sorted(found.items()))


OURS = {name: f for name, f in functions().items() if name not in MAKERS and name not in DRAWS}


def arguments(name: str) -> dict[str, Any]:
    """Return the arguments of a call: arrays for operands, and other values."""
    if name in CALLS:
        given = CALLS[name]
        domains: Iterator[str] = iter(())
    else:
        parameters = inspect.signature(OURS[name]).parameters.values()
        row = next((r for r in ROWS if r.name.partition("-")[0] == name), None)
        domains = iter(row.domains if row else ())
        bare = [p.name for p in parameters if p.default is p.empty]
        given = {p: (1 if p == "dim" else X) for p in bare}
    rng = np.random.default_rng(len(name))
    return {key: [array(v, rng, "real") for v in value] if isinstance(value, list)
            else array(value, rng, next(domains, "real")) for key, value in given.items()}  # fmt: skip


def array(value: Any, rng: Any, domain: str) -> Any:
    return np.asarray(DOMAINS[domain](rng, value)) if isinstance(value, tuple) else value


def is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def tensors(given: dict[str, Any], make: Callable[..., Any] = mg.tensor) -> dict[str, Any]:
    """Return the arguments with a tensor instead of each array; `make` creates the floating tensors."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(v) for v in value]
        if isinstance(value, np.ndarray):
            return (make if is_float(value) else mg.tensor)(value, device="reference")
        return value

    return {key: one(value) for key, value in given.items()}


BITS = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift", "gcd",
        "lcm"}  # fmt: skip


def call_of(name: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    given = arguments(name)
    if name in BITS:
        given = {key: (value * 10).astype(np.int64) for key, value in given.items()}
    if name == "masked_scatter":
        given["mask"] = MASK
    if name == "where":
        given["condition"] = MASK
    return OURS[name], given


def parts(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple) else (found,)


def lying(y: Any, how: str) -> Any:
    """Return a tensor of nan (or 7) with the shape and dtype of y, and another layout."""
    value = float("nan") if y.dtype.is_float else 1 if y.dtype is mg.bool else 7

    def full(*shape: int) -> Any:
        return mg.full(shape, value, dtype=y.dtype, device="reference")

    if how == "contiguous" or not y.ndim:
        return full(*y.shape)
    if how == "transposed":
        return full(*y.shape[::-1]).permute(*range(y.ndim - 1, -1, -1))
    if how == "stepped":
        return full(*y.shape[:-1], 2 * y.shape[-1] + 1)[..., 1::2]
    if how == "flipped":
        return full(*y.shape).flip(0)
    return full(3, *y.shape)[1]


def same(a: Any, b: Any) -> bool:
    known = a.shape == b.shape and a.dtype is b.dtype
    return known and np.array_equal(a.numpy(), b.numpy(), equal_nan=a.dtype.is_float)


@over("name", OURS)
@over("how", ["contiguous", "transposed", "stepped", "flipped", "part"])
def test_out_takes_the_result_however_it_lies(name: str, how: str) -> None:
    function, given = call_of(name)
    wanted = function(**tensors(given))
    outs = tuple(lying(y, how) for y in parts(wanted))
    found = function(**tensors(given), out=outs if isinstance(wanted, tuple) else outs[0])
    assert type(found) is type(wanted)
    for y, out, want in zip(parts(found), outs, parts(wanted)):
        assert y is out and same(out, want)
    if how == "part" and outs[0].ndim:
        filler = lying(outs[0], "contiguous")
        assert same(outs[0].base[0], filler) and same(outs[0].base[2], filler), "only its part"


def aliases() -> Iterator[tuple[str, str]]:
    """Yield the functions and operands where the result has the shape and dtype of the operand."""
    for name in OURS:
        function, given = call_of(name)
        wanted = function(**tensors(given))
        for key, value in given.items():
            if isinstance(value, np.ndarray) and not isinstance(wanted, tuple):
                place = mg.tensor(value, device="reference")
                if (place.shape, place.dtype) == (wanted.shape, wanted.dtype):
                    yield name, key


ALIASES = list(aliases())
WEIGHTS = (1.0, -2.0, 0.5, 3.0, 1.5, -0.25, 2.5, -1.5)


def weighted(found: Any) -> Any:
    """Return a weighted sum of the squares of all floating results; neighbouring elements have different weights."""
    total = 0.0
    for k, y in enumerate(parts(found)):
        if y.dtype.is_float and y.numel():
            w = np.resize(WEIGHTS, y.shape) * (k + 1)
            total = total + (y * mg.tensor(w, dtype=y.dtype, device="reference") * y).sum()
    return total


def leaves(given: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return the arguments with a Var instead of each floating array, and these Vars."""
    found: list[Any] = []

    def leaf(value: Any, device: str) -> Any:
        found.append(mg.Var(value, dtype=mg.float64, device=device))
        return found[-1]

    return tensors(given, leaf), found


def gradients(function: Callable[[dict[str, Any]], Any], given: dict[str, Any]) -> list[Any]:
    """Return the gradients of a call with respect to each floating array."""
    arguments, found = leaves(given)
    total = weighted(function(arguments))
    if not (isinstance(total, mg.Tensor) and total.requires_grad):
        return [None] * len(found)
    total.backward()
    return [None if x.grad is None else x.grad.numpy() for x in found]


def agree(found: list[Any], wanted: list[Any]) -> bool:
    def zero(x: Any) -> Any:
        return 0.0 if x is None else x

    return len(found) == len(wanted) and all(np.allclose(zero(a), zero(b)) for a, b in zip(found, wanted))


@over("name", OURS)
def test_gradients_pass_out(name: str) -> None:
    function, given = call_of(name)
    wanted = function(**tensors(given, lambda value, device: mg.tensor(value, mg.float64, device)))
    outs = tuple(lying(y, "stepped") for y in parts(wanted))

    def into(arguments: dict[str, Any]) -> Any:
        return function(**arguments, out=outs if len(outs) > 1 else outs[0])

    assert agree(gradients(into, given), gradients(lambda a: function(**a), given))


@over("name, key", ALIASES)
@over("tracked", ["all", "others", "it"])
def test_an_operand_may_be_out(name: str, key: str, tracked: str) -> None:
    function, given = call_of(name)

    def copied(arguments: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for k, v in arguments.items():
            if isinstance(v, mg.Tensor) and v.dtype.is_float:
                v = v.clone() if tracked == "all" or (k == key) == (tracked == "it") else v.detach().clone()
            found[k] = v
        return found

    def functional(arguments: dict[str, Any]) -> Any:
        return function(**copied(arguments))

    def into(arguments: dict[str, Any]) -> Any:
        there = copied(arguments)
        y = function(**there, out=there[key])
        assert y is there[key]
        return y

    plain = tensors(given)
    wanted = function(**plain)
    assert same(function(**plain, out=plain[key]), wanted)
    assert agree(gradients(into, given), gradients(functional, given))


def test_an_operand_of_a_product_may_be_out_while_the_other_tracks() -> None:
    a, w = mg.tensor([[1.0, 2.0], [3.0, 4.0]], device="reference"), mg.Var([[1.0, 0.0], [2.0, 1.0]], device="reference")
    mg.matmul(a, w, out=a).sum().backward()
    assert a.tolist() == [[5.0, 2.0], [11.0, 4.0]] and w.grad.tolist() == [[4.0, 4.0], [6.0, 6.0]]


def test_two_operands_may_both_be_out() -> None:
    w = mg.Var([[1.0, 0.0], [2.0, 1.0]], dtype=mg.float64, device="reference")
    a = w * 1.0
    mg.matmul(a, a, out=a).sum().backward()
    b = mg.Var([[1.0, 0.0], [2.0, 1.0]], dtype=mg.float64, device="reference")
    (b @ b).sum().backward()
    assert w.grad.tolist() == b.grad.tolist()


BAD_PLACES = {
    "dtype": (lambda y: mg.empty(*y.shape, dtype=mg.bool, device="reference"), DTypeError),
    "device": (lambda y: mg.empty(*y.shape, dtype=y.dtype, device="cpu"), DeviceError),
    "number": (lambda y: 1.0, DTypeError),
    "none of several": (lambda y: None, DTypeError),
    "shared": (lambda y: mg.zeros((), dtype=y.dtype, device="reference").expand(*y.shape), StorageError),
}  # fmt: skip


@over("name", OURS)
def test_a_wrong_out_raises_before_anything_is_written(name: str) -> None:
    function, given = call_of(name)
    wanted = function(**tensors(given))
    several = isinstance(wanted, tuple)
    for what, (place, error) in BAD_PLACES.items():
        last = parts(wanted)[-1]
        # A bool may be cast to any dtype, and the ops of DTYPE_FROM_OUT compute in that of `out`.
        fits = what == "dtype" and (last.dtype is mg.bool or function.op.label in DTYPE_FROM_OUT)
        if (
            fits
            or (what == "shared" and not (last.ndim and last.numel()))
            or (what == "none of several" and not several)
        ):
            continue
        outs = [lying(y, "contiguous") for y in parts(wanted)]
        outs[-1] = place(last)
        with pytest.raises(error, match=f"^({function.op.label}|{name}): "):
            function(**tensors(given), out=tuple(outs) if several else outs[0])
        if several:
            assert same(outs[0], lying(outs[0], "contiguous")), what


def test_results_may_not_share_memory() -> None:
    x, y = mg.tensor([3, 1], device="reference"), mg.zeros(3, dtype=mg.int64, device="reference")
    for outs in ((y[:2], y[:2]), (y[:2], y[1:])):
        with pytest.raises(StorageError, match=r"^sort: the tensors in out must not share memory"):
            mg.sort(x, out=outs)
    assert y.tolist() == [0, 0, 0]
    assert mg.sort(mg.tensor([3, 1, 2], device="reference")[:1], out=(y[:1], y[1:2])).values.tolist() == [3]


def test_several_results_without_names_go_into_out() -> None:
    x = mg.tensor([[0, 1], [1, 0]], device="reference")
    outs = tuple(mg.zeros(2, dtype=mg.int64, device="reference") for _ in range(2))
    assert mg.nonzero(x, as_tuple=True, out=outs) == outs and [y.tolist() for y in outs] == [[0, 1], [1, 0]]


CASTING = ("sum", "prod", "mean", "cumsum", "cumprod", "softmax", "log_softmax")


@over("name", CASTING)
@over("dtype", ["int32", "float16", "float64", "bool"])
def test_out_has_the_dtype_that_is_asked_for(name: str, dtype: str) -> None:
    function, x = OURS[name], mg.tensor([[1, 2], [3, 4]], device="reference")
    try:
        wanted = function(x, 1, dtype=dtype)
    except DTypeError:
        return
    out = lying(wanted, "stepped")
    assert function(x, 1, dtype=dtype, out=out) is out and same(out, wanted)


@over("name", sorted(names.in_place))
@over("part", [False, True])
def test_an_in_place_form_has_the_gradients_of_the_function(name: str, part: bool) -> None:
    function, given = call_of(name)
    first = next(iter(given))
    wanted = function(**tensors(given))
    if not (wanted.dtype.is_float and is_float(given[first]) and wanted.shape == given[first].shape):
        return

    def write(arguments: dict[str, Any]) -> Any:
        x = arguments.pop(first)
        x = mg.stack([x, x * 2.0])[0] if part else x * 1.0
        assert getattr(x, f"{name}_")(**arguments) is x
        return x

    assert agree(gradients(write, given), gradients(lambda a: function(**a), given))


@over("name", OURS)
def test_arguments_by_place_and_defaults_by_name_change_nothing(name: str) -> None:
    function, given = call_of(name)
    parameters = inspect.signature(function).parameters
    wanted = parts(function(**tensors(given)))
    defaults = {p.name: p.default for p in parameters.values() if p.default is not p.empty and p.name not in given}
    spelled = parts(function(**tensors(given), **defaults))
    placed = [key for key, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    values = {**defaults, **tensors(given)}
    by_place = parts(function(*[values.pop(key) for key in placed], **values))
    assert all(map(same, spelled, wanted)) and all(map(same, by_place, wanted))


ALONG = [name for name in OURS if "dim" in inspect.signature(OURS[name]).parameters and name != "matrix_norm"]


@over("name", ALONG)
def test_a_dim_is_any_integer_and_counts_from_the_end(name: str) -> None:
    function, given = call_of(name)
    rank = (given["tensors"][0] if "tensors" in given else next(iter(given.values()))).ndim
    rank += name in ("stack", "unsqueeze_copy")
    for dim in range(rank):
        if (
            name
            in ("index_add", "index_copy", "index_reduce", "index_select", "slice_scatter", "split_with_sizes_copy")
            and dim
        ):
            continue
        wanted = parts(function(**tensors({**given, "dim": dim})))
        for other in (np.int64(dim), dim - rank, np.int32(dim - rank)):
            assert all(map(same, parts(function(**tensors({**given, "dim": other}))), wanted))


@pytest.mark.parametrize(
    "name",
    ["celu", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish", "relu", "relu6", "selu", "silu"],
)
def test_inplace_is_read_as_true_or_false(name: str) -> None:
    function, x = getattr(mg.nn.functional, name), mg.tensor([-1.0, 2.0, 9.0], device="reference")
    wanted = function(x).tolist()
    for no in (False, 0, np.False_):
        assert function(x, inplace=no).tolist() == wanted and x.tolist() == [-1.0, 2.0, 9.0]
    for yes in (True, 1, np.True_):
        y = x.clone()
        assert function(y, inplace=yes) is y and y.tolist() == wanted
    assert mg.func.vmap(lambda v: function(v * 1.0, inplace=True))(x.reshape(1, 3)).tolist() == [wanted]


def test_inplace_and_another_out_are_refused() -> None:
    x, y = mg.ones(2, device="reference"), mg.zeros(2, device="reference")
    with pytest.raises(ArgumentError, match=r"^elu: with inplace=True, out must be None or input"):
        mg.elu(x, 1.0, True, out=y)
    assert y.tolist() == [0.0, 0.0] and mg.elu(x, 2.0, False, out=y) is y


@pytest.mark.parametrize("name, key", [("permute", "dims"), ("flip", "dims"), ("expand", "shape"), ("squeeze", "dim")])
def test_a_view_takes_a_list_by_name(name: str, key: str) -> None:
    x = mg.tensor([[1.0, 2.0]], device="reference")
    value = {"permute": [1, 0], "flip": [0, 1], "expand": [3, 2], "squeeze": [0]}[name]
    listed, placed = getattr(mg, name)(x, **{key: value}), getattr(mg, name)(x, tuple(value))
    assert same(listed, placed) and same(getattr(mg, name)(x, value), placed)


TAKES_ARRAYS = {
    "var": lambda x, a: mg.var(a), "contiguous": lambda x, a: mg.contiguous(a), "sum": lambda x, a: mg.sum(a),
    "cross_entropy": lambda x, a: mg.nn.functional.cross_entropy(a, a), "cumsum": lambda x, a: mg.cumsum(a, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKES_ARRAYS)
def test_an_array_alone_is_no_operand(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: expected a tensor, got ndarray"):
        TAKES_ARRAYS[name](None, np.ones((2, 2)))


def test_an_array_next_to_a_tensor_is_one_for_every_kind_of_op() -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=mg.float64, device="reference")
    a = np.array([[2.0, 1.0], [0.5, 4.0]])
    t, f = mg.tensor(a, device="reference"), mg.nn.functional
    for call in (
        lambda b: mg.add(x, b), lambda b: mg.lerp(x, b, 0.5), lambda b: mg.mm(x, b), lambda b: f.linear(x, b),
        lambda b: f.cross_entropy(x, b), lambda b: f.layer_norm(x, 2, b[0]),
        lambda b: mg.slice_scatter(x, b[:1], 0, -1),
    ):  # fmt: skip
        assert same(call(a), call(t))


@pytest.mark.parametrize("name", ["sort", "topk", "max", "min", "cummax", "cummin", "kthvalue", "median"])
def test_several_results_pass_a_pickle(name: str) -> None:
    function, given = call_of(name)
    found = function(**{"dim": 1, **tensors(given)})
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found) and all(map(same, again, found))


def test_dims_in_a_tuple_find_the_plan_that_they_mean() -> None:
    x = mg.tensor(np.arange(6.0).reshape(2, 3), device="reference")
    for dims, wanted in (((0,), [3.0, 5.0, 7.0]), ((-1,), [3.0, 12.0]), ((0, 1), 15.0), ((np.int64(1), 0), 15.0)):
        assert mg.sum(x, dims).tolist() == mg.sum(x, dims).tolist() == mg.sum(x, list(dims)).tolist() == wanted
    assert mg.sum(x, (0,), True).shape == mg.sum(x, (0,), 1).shape == (1, 3) and mg.sum(x, (0,), False).shape == (3,)
    for dims in ((0, -2), (2,), (0.0,)):
        for _ in range(2):
            with pytest.raises(MinigradError, match=r"^sum: "):
                mg.sum(x, dims)


def test_a_tensor_without_dims_is_one_dim() -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], device="reference")
    assert mg.sum(x, mg.tensor(1, device="reference")).tolist() == mg.sum(x, np.array(1)).tolist() == [3.0, 7.0]
    with pytest.raises(ArgumentError, match=r"^sum: dim must be an int, got"):
        mg.sum(x, mg.tensor(1.0, device="reference"))


def test_the_error_of_a_part_names_the_whole():
    x, y = mg.ones(2, 3, device="reference"), mg.ones(4, 2, device="reference")
    for noted in (False, True):  # if nodes are noted, composed ops open scopes
        with mg.debug(noted), pytest.raises(mg.ShapeError, match=r"^diff: in cat: "):
            mg.diff(x, prepend=y)
    with pytest.raises(mg.IndexOutOfRange, match=r"^nanmean: dim 4 is out of range"):
        mg.nanmean(y, dim=4)


@over_rows([row for row in ROWS if row.smooth], items=20)
def test_a_call_whose_nodes_are_noted_gives_the_same(row: Any) -> None:
    """Under a checkpoint, composed ops open scopes, and every value that is saved is held."""
    xs = [mg.Var(x, device="reference") if x.dtype.kind == "f" else mg.tensor(x, device="reference")
          for x in arrays(row)]  # fmt: skip
    leaves = [x for x in xs if x.is_variable]
    mg.manual_seed(0)
    expected = row.fn(*xs)
    mg.manual_seed(0)
    again = mg.checkpoint(row.fn, *xs)
    np.testing.assert_array_equal(again.detach().numpy(), expected.detach().numpy())
    gradients = [mg.grad(y.sum(), leaves, allow_unused=True) for y in (expected, again)]
    for a, b in zip(*gradients, strict=True):
        assert (a is None) == (b is None) and (a is None or np.array_equal(a.numpy(), b.numpy(), equal_nan=True))


def test_a_definition_that_gives_no_tensor_takes_no_out() -> None:
    @mg.composed()
    def odd(x: mg.Tensor) -> None:
        """Return None."""

    with pytest.raises(
        mg.DeclarationError, match=r"^odd: with out, the composed function must return a tensor, got NoneType None"
    ):
        odd(mg.ones(2, device="reference"), out=mg.ones(2, device="reference"))


def test_an_operand_may_be_a_tensor_or_a_number_or_none() -> None:
    @mg.composed()
    def scaled(x: mg.Tensor, factor: mg.Tensor | float | None = 2.0) -> mg.Tensor:
        """x times something."""
        return x if factor is None else x * factor

    x = mg.ones(2, device="reference")
    assert scaled(x).tolist() == [2.0, 2.0] and scaled(x, None).tolist() == [1.0, 1.0]
    assert scaled(x, 3).tolist() == scaled(x, x * 3.0).tolist() == [3.0, 3.0]

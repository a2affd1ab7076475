"""PyTorch's own samples of its functions (OpInfo), given to minigrad: values, dtypes and gradients must be equal.

`python -m tests.pytorch_samples [NAME...] [--device cpu] [--samples N] [--complex]` prints what differs and the score.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minigrad as mg

# In scope for complex samples only.
OF_COMPLEX = re.compile(r".*complex|c(float|double)$|(view_as_)?(real|imag)$|(resolve_)?conj|angle|polar|sgn")
# Not in scope: sparse and masked tensors, PyTorch's private and deprecated names,
# families of polynomials, windows of signals, and writes that change the size of a tensor.
OUTSIDE = re.compile(
    r"_[^_]|chalf$|resolve_neg"
    r"|sparse\.|to_sparse|masked\.|jiterator|native_|signal\.|torch\.|.*_polynomial_|special\.(spherical_)?bessel"
    r"|special\.(scaled_)?modified_bessel|special\.(airy_ai|erfcx)|i?gammainc|igammac?$|.*_backward|resize_|hash_tensor"
    r"|linalg\.ldl_.*$|lu$"
    r"|(pca|svd)_lowrank|triangular_solve|slice$|(new_)?empty_(permuted|strided)|nonzero_static"
    r"|nn\.functional\.(fractional_max_pool.d|multi_head_attention_forward|rrelu)"
)

# How a sample is called where PyTorch's own list calls a function in another way than by its name.
FORMS: dict[str, Callable[..., Any]] = {
    **{name: (lambda x, name=name: getattr(x, name)) for name in ("T", "H", "mT", "mH")},
    "einsum": lambda operands, equation: mg.einsum(equation, *operands),
    "normal in_place": lambda x, *args, **more: x.clone().normal_(*args, **more),
    "normal number_mean": lambda std, mean, *args, **more: mg.normal(mean, std, *args, **more),
    "linalg.eig": lambda x: sorted_pairs(mg.linalg.eig(x)),
    "linalg.eigvals": lambda x: in_order(mg.linalg.eigvals(x)),
    "linalg.eigh": lambda *args, **more: up_to_signs(mg.linalg.eigh(*args, **more)),
    "linalg.lstsq grad_oriented": lambda *args, **more: mg.linalg.lstsq(*args, **more)[:2],
    "linalg.pinv singular": lambda a, b: mg.linalg.pinv(a @ b.mT),
    "nn.functional.embedding_bag": lambda weight, index, *args, **more: mg.nn.functional.embedding_bag(
        index, weight, *args, **more
    ),
    "polygamma": lambda x, n: mg.polygamma(n, x),
    "special.polygamma": lambda x, n: mg.special.polygamma(n, x),
    "where": lambda x, condition, other: mg.where(condition, x, other),
    "nn.functional.embedding": lambda weight, index, **more: mg.nn.functional.embedding(index, weight, **more),
    **{
        name: (lambda x, *args, name=f"{name}_", **more: getattr(x.clone(), name)(*args, **more))
        for name in ("cauchy", "exponential", "geometric", "log_normal", "uniform")
    },
    "zero_": lambda x: x.clone().zero_(),
}
METHODS = ("bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short")


def up_to_signs(pairs: Any) -> Any:
    """Eigenvalues, and eigenvectors of which the phase is open, by the products of their elements with the first."""
    return pairs[0], pairs[1] * pairs[1][..., :1, :].conj()


def sorted_pairs(pairs: Any) -> Any:
    """Eigenvalues, and the magnitudes of the eigenvectors, in the order of `in_order`."""
    w, V = pairs
    order = (w.detach().real + 2 * w.detach().imag).argsort(-1)
    return w.gather(-1, order), abs(V).gather(-1, order.unsqueeze(-2).expand(V.shape))


def in_order(w: Any) -> Any:
    """Eigenvalues, which have no order, sorted by their parts."""
    return w.gather(-1, (w.detach().real + 2 * w.detach().imag).argsort(-1))


# How PyTorch's results are made unique.
UNIQUE = {
    "linalg.eigh": up_to_signs,
    "linalg.eig": sorted_pairs,
    "linalg.eigvals": in_order,
}

# Samples of more elements take seconds each on a device that computes one after the other.
LARGEST = 20_000


class Differs(Exception):
    """A result that is not PyTorch's."""


def in_scope(name: str, complex: bool = False) -> bool:
    """Whether minigrad means to have a function, for real numbers or for complex ones."""
    return not OUTSIDE.match(name) and (complex or not OF_COMPLEX.match(name))


def ours(name: str, variant: str = "") -> Callable[..., Any] | None:
    """The function of minigrad that a name of PyTorch's list means; None if there is none."""
    if form := FORMS.get(f"{name} {variant}") or FORMS.get(name):
        return form
    value: Any = mg
    for part in name.split("."):
        value = getattr(value, part, None)
    if value is None or name in METHODS:
        value = getattr(mg.Tensor, name, None)
    return value


class Sample:
    """The operands of one call for both libraries; `leaves` are the pairs of them that take a gradient."""

    def __init__(self, torch: Any, device: str) -> None:
        self.torch, self.device, self.leaves = torch, device, []

    def tensor(self, x: Any) -> Any:
        """A tensor over a copy of PyTorch's memory, of which it shows the same part."""
        torch = self.torch
        x = x.resolve_conj().resolve_neg()
        memory = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
        y = mg.tensor(memory.float().numpy() if x.dtype is torch.bfloat16 else memory.numpy(), device=self.device)
        y = y.to(mg.bfloat16) if x.dtype is torch.bfloat16 else y
        return y.as_strided(x.shape, x.stride(), x.storage_offset())

    def convert(self, x: Any) -> Any:
        """An operand, tree of operands or parameter of PyTorch as minigrad's, with the same strides."""
        torch = self.torch
        if isinstance(x, torch.Tensor):
            y = self.tensor(x.detach())
            if x.requires_grad:
                y = mg.Var(y)
                self.leaves.append((x, y))
            return y
        if isinstance(x, (tuple, list)):
            return (tuple if isinstance(x, tuple) else list)(self.convert(y) for y in x)
        if isinstance(x, dict):
            return {name: self.convert(y) for name, y in x.items() if name != "layout"}
        if isinstance(x, (torch.dtype, torch.memory_format)):
            return getattr(mg, str(x).removeprefix("torch."))
        if isinstance(x, torch.device) or x == "cpu":
            return self.device
        if callable(x):  # the distance of a triplet loss
            return mg.nn.functional.pairwise_distance
        return x


def leaves_of(y: Any) -> list[Any]:
    """The results in a tree of results."""
    return [leaf for part in y for leaf in leaves_of(part)] if isinstance(y, (tuple, list)) else [y]


def values_of(y: Any) -> np.ndarray:
    """The elements of a result of either library, floats as float64."""
    if isinstance(y, mg.Tensor):
        return np.asarray(y.detach().tolist()).reshape(y.shape)
    if hasattr(y, "detach"):
        y = y.detach().resolve_conj().resolve_neg()
        return y.double().numpy() if y.is_floating_point() else y.numpy()
    return np.asarray(y)


def expect_equal(theirs: Any, mine: Any, part: str, tolerance: float) -> None:
    """Raise Differs unless shapes, dtypes and values are equal."""
    x, y = values_of(theirs), values_of(mine)
    if x.shape != y.shape:
        raise Differs(f"{part} of shape {y.shape}, PyTorch {x.shape}")
    if hasattr(theirs, "dtype") and str(theirs.dtype).removeprefix("torch.") != str(mine.dtype):
        raise Differs(f"{part} of dtype {mine.dtype}, PyTorch {theirs.dtype}")
    wide = complex if x.dtype.kind == "c" else float
    if x.dtype.kind in "fiubc" and not np.allclose(
        x.astype(wide), y.astype(wide), rtol=tolerance, atol=tolerance / 10, equal_nan=True
    ):
        raise Differs(f"{part} {y.tolist()!s:.80}, PyTorch {x.tolist()!s:.80}")


def check(torch: Any, info: Any, sample: Any, device: str) -> None:
    """Raise unless one sample gives PyTorch's results and gradients; numbers drawn at random need their shape only."""
    function = ours(info.name, info.variant_test_name)
    assert function is not None
    operands = Sample(torch, device)
    first, args, more = (operands.convert(x) for x in (sample.input, sample.args, sample.kwargs))
    unique = UNIQUE.get(info.name, lambda results: results)
    call = lambda: leaves_of(unique(info.op(sample.input, *sample.args, **sample.kwargs)))
    theirs = call()
    mine = leaves_of(function(first, *args, **more))
    if len(theirs) != len(mine):
        raise Differs(f"{len(mine)} results, PyTorch {len(theirs)}")
    if is_random(torch, info, call):
        theirs = [torch.zeros_like(x) for x in theirs]
        mine = [mg.zeros_like(x) for x in mine]
    for k, (x, y) in enumerate(zip(theirs, mine)):
        expect_equal(x, y, f"result {k}", 1e-6)
    check_gradients(torch, theirs, mine, operands)


def check_gradients(torch: Any, theirs: list[Any], mine: list[Any], operands: Sample) -> None:
    """Raise Differs unless the gradients of the results are PyTorch's."""
    tracked = [(x, y) for x, y in zip(theirs, mine) if isinstance(x, torch.Tensor) and x.requires_grad]
    if not tracked or not operands.leaves:
        return
    seeds = [torch.randn_like(x) for x, _ in tracked]
    leaves, variables = zip(*operands.leaves)
    expected = torch.autograd.grad([x for x, _ in tracked], leaves, seeds, allow_unused=True)
    outs = [(y, operands.tensor(g)) for (_, y), g in zip(tracked, seeds) if y.requires_grad]
    got: Any = [None] * len(leaves)  # for constants, whose gradient is 0 in PyTorch
    if outs:
        got = mg.grad([y for y, _ in outs], variables, [g for _, g in outs], allow_unused=True)
    for k, (x, y) in enumerate(zip(expected, got)):
        x = torch.zeros_like(leaves[k]) if x is None else x
        tolerance = 1e-5 if x.dtype in (torch.float64, torch.complex128) else 1e-4
        expect_equal(x, mg.zeros_like(variables[k]) if y is None else y, f"gradient {k}", tolerance)


def is_random(torch: Any, info: Any, call: Callable[[], Any]) -> bool:
    """Whether calls do not all give the same numbers, or give memory that nobody wrote."""
    if "empty" in info.name:
        return True
    calls = [[x.detach().clone() for x in call() if isinstance(x, torch.Tensor)] for _ in range(20)]
    return not all(torch.equal(x.nan_to_num(), y.nan_to_num()) for y in calls[1:] for x, y in zip(calls[0], y))


def dtype_of(torch: Any, info: Any, complex: bool) -> Any:
    """The widest dtype of those that a function takes."""
    kinds = [torch.complex128] if complex else [torch.float64, torch.float32, torch.int64, torch.bool]
    return next((kind for kind in kinds if kind in info.supported_dtypes("cpu")), None)


def samples_of(torch: Any, info: Any, count: int, complex: bool) -> Iterator[Any]:
    """The first samples of a function that PyTorch itself takes."""
    dtype = dtype_of(torch, info, complex)
    if dtype is None:
        return
    tracked = (dtype.is_floating_point or dtype in info.supported_backward_dtypes("cpu")) and info.supports_autograd
    made = info.sample_inputs("cpu", dtype, requires_grad=tracked)
    for sample, _ in zip(made, range(count)):
        if any(x.numel() > LARGEST for x in (sample.input, *sample.args) if isinstance(x, torch.Tensor)):
            continue
        try:
            info.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:
            continue
        yield sample


def outcomes(
    device: str = "reference", names: tuple[str, ...] = (), samples: int = 8, complex: bool = False
) -> dict[str, str]:
    """By name: "" for a function that agrees, else the first thing that does not.

    complex: whether the samples are complex numbers; functions that are real in PyTorch are then left out.
    """
    import torch
    from torch.testing._internal import common_methods_invocations as lists

    # Samples of random functions set the seed before each call; without it two calls tell that they are random.
    lists.wrapper_set_seed = lambda function, *args, **more: function(*args, **more)
    result: dict[str, str] = {}
    before = mg.default_device()
    mg.set_default_device(device)
    try:
        for info in lists.op_db:
            named = in_scope(info.name, complex) and (not names or info.name in names)
            if named and not result.get(info.name) and dtype_of(torch, info, complex) is not None:
                result[info.name] = outcome(torch, info, device, samples, complex)
    finally:
        mg.set_default_device(before)
    return result


def outcome(torch: Any, info: Any, device: str, samples: int, complex: bool) -> str:
    """What the first sample that does not agree says; "" if all agree."""
    if ours(info.name) is None:
        return "missing"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, sample in enumerate(samples_of(torch, info, samples, complex)):
            torch.manual_seed(0)
            try:
                check(torch, info, sample, device)
            except Exception as error:
                variant = f" ({info.variant_test_name})" if info.variant_test_name else ""
                return f"sample {k}{variant}: {type(error).__name__}: {error}"
    return ""


def main() -> int:
    """Print what differs, and how many names agree; 1 if one does not."""
    parser = argparse.ArgumentParser(prog="python -m tests.pytorch_samples", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of PyTorch's list (default: all in scope)")
    parser.add_argument("--device", default="reference", help="where they run (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=8, help="of each name (default: %(default)s)")
    parser.add_argument("--complex", action="store_true", help="give complex numbers")
    options = parser.parse_args()
    result = outcomes(options.device, tuple(options.names), options.samples, options.complex)
    for name, text in sorted(result.items()):
        if text:
            print(f"{name}: {text:.300}")
    good = sum(not text for text in result.values())
    print(f"{good} of {len(result)} names agree, {sum(x == 'missing' for x in result.values())} are missing")
    return int(good < len(result))


if __name__ == "__main__":
    sys.exit(main())

"""Make calls from PyTorch's signatures and sample values, run them, and describe and compare their results."""

from __future__ import annotations

import itertools
import json
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.arguments.values import GENERAL, SKIPPED, SPECIAL

SIGNATURES = Path(__file__).parents[1] / "pytorch_signatures.json"
RESULTS = Path(__file__).with_name("results.json")
ABSENT = {"device", "pin_memory", "names", "generator", "_stacklevel", "sparse", "max_norm"}


class Call(NamedTuple):
    """One call: the name of the function in PyTorch, and its arguments by name, as samples.

    required: the number of arguments that are passed by position.  optional: the names of those that vary.
    """

    function: str
    arguments: tuple[tuple[str, Any], ...]
    optional: tuple[str, ...]
    required: int

    @property
    def key(self) -> str:
        """The call as text, with the arguments that vary."""
        values = dict(self.arguments)
        return f"{self.function.removeprefix('torch.')}({', '.join(f'{k}={values[k]}' for k in self.optional)})"


def calls() -> Iterator[Call]:
    """Every function with samples for its required parameters: no optional argument, each alone, and pairs."""
    for function, overloads in json.loads(SIGNATURES.read_text(encoding="utf-8")).items():
        short, seen = function.rpartition(".")[2], set()
        if short in SKIPPED or short.endswith("_"):
            continue
        for overload in overloads:
            for call in calls_of(function, short, overload):
                if call.key not in seen:
                    seen.add(call.key)
                    yield call


def calls_of(function: str, short: str, overload: list[list[str]]) -> Iterator[Call]:
    """The calls of one overload; none if a required parameter has no sample."""
    samples = GENERAL | SPECIAL.get(short, {}) | SPECIAL.get(function.removeprefix("torch."), {})
    names = [name for name, _, _ in overload]
    required = [name for name, _, default in overload if default == "" or name == "steps"]
    if "self" in names or any(not samples.get(name) for name in required):
        return
    base = tuple((name, samples[name][0]) for name in required)
    count = len([name for name, kind, _ in overload if name in required and kind != "keyword"])
    yield Call(function, base, (), count)
    optional = [name for name in names if name not in required and name not in ABSENT and name in samples]
    for name in optional:
        for value in samples[name]:
            yield Call(function, (*base, (name, value)), (name,), count)
    for name in required:
        for value in samples[name][1:]:
            yield Call(function, tuple([(k, value if k == name else v) for k, v in base]), (name,), count)
    for pair in itertools.combinations([name for name in optional if name != "out"], 2):
        yield Call(function, (*base, *[(name, samples[name][0]) for name in pair]), pair, count)


def array_of(sample: str, name: str) -> np.ndarray[Any, Any]:
    """The array of a sample such as "~f 3 4"; it depends on the sample and the parameter alone."""
    kind, *sizes = sample[1:].split()
    shape, draw = tuple(map(int, sizes)), np.random.default_rng(zlib.crc32(f"{name} {sample}".encode()))
    if kind[0] == "i" or kind[0] == "o":
        most = int(kind[1:] or sizes[0])
        return draw.permutation(most) if kind[0] == "o" else draw.integers(0, most, shape)
    if kind == "b":
        return draw.random(shape) < 0.5
    values = draw.standard_normal(shape)
    if kind == "s" or kind == "l":
        square = values @ values.T + 3 * np.eye(shape[0])
        values = square if kind == "s" else np.linalg.cholesky(square)
    forms: dict[str, Callable[[Any], Any]] = {
        "p": lambda v: 0.2 + abs(v), "u": lambda v: 0.1 + 0.8 / (1 + np.exp(-v)), "big": lambda v: 3 + abs(v),
        "sign": np.sign, "sorted": np.sort,
    }  # fmt: skip
    return np.asarray(forms.get(kind, lambda v: v)(values), np.float32)


def argument(library: Any, name: str, sample: Any, options: dict[str, Any]) -> Any:
    """A sample as an argument of a library: minigrad or torch."""
    if isinstance(sample, list):
        return [argument(library, f"{name}{k}", each, options) for k, each in enumerate(sample)]
    if not isinstance(sample, str):
        return sample
    if sample.startswith("~"):
        return library.tensor(array_of(sample, name), **options)
    if name == "dtype":
        return getattr(library, sample.split()[1])
    return getattr(library, sample) if name in ("layout", "memory_format") else sample


def function_of(library: Any, path: str) -> Any:
    """The function of a path such as "torch.linalg.det"."""
    for part in path.split(".")[1:]:
        library = getattr(library, part)
    return library


def outcome(library: Any, call: Call, options: dict[str, Any]) -> list[Any] | str:
    """The results of a call, each as [dtype, shape, checksum, scale], or the text of its error."""
    function = function_of(library, call.function)
    given = {name: argument(library, name, sample, options) for name, sample in call.arguments}
    first = [given.pop(name) for name, _ in call.arguments[: call.required]]
    if call.function.rpartition(".")[2] in SPREAD:
        first = first[0]
    makes = options if "~" not in str(call.arguments) else {}
    try:
        if "out" in given:
            del given["out"]
            plain = function(*first, **given, **makes)
            empties = [library.empty(0, dtype=y.dtype, **options) for y in listed(plain)]
            given["out"] = tuple(empties) if isinstance(plain, tuple) else empties[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*first, **given, **makes)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return [described(y) for y in listed(result)]


SPREAD = ("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "meshgrid")


def listed(result: Any) -> list[Any]:
    """The tensors and numbers of a result, in order."""
    if isinstance(result, (tuple, list)) and not isinstance(result, str):
        return [y for each in result for y in listed(each)]
    return [result]


def described(y: Any) -> list[Any]:
    """[dtype, shape, checksum, scale] of a result; the checksum is a weighted sum, of the given scale."""
    if not hasattr(y, "shape"):
        return [type(y).__name__, [], float(y) if isinstance(y, (bool, int, float)) else 0.0, 1.0]
    dtype = str(y.dtype).rpartition(".")[2]
    plain = (y.float() if dtype == "bfloat16" else y).detach().to("cpu").resolve_conj().resolve_neg().numpy().ravel()
    values = plain.astype(np.complex128).view(np.float64) if plain.dtype.kind == "c" else plain.astype(np.float64)
    weights = np.cos(np.arange(values.size)) + 1.5
    finite = np.nan_to_num(values, nan=17.0, posinf=1e3, neginf=-1e3)
    return [dtype, list(y.shape), float(f"{weights @ finite:.6g}"), float(f"{weights @ abs(finite):.3g}")]


def differs(ours: Any, theirs: Any) -> str:
    """How a result differs from PyTorch's, or "".  A call that PyTorch refuses may have a result."""
    if theirs is None or isinstance(theirs, str):
        return ""
    if isinstance(ours, str):
        return ours
    if [y[:2] for y in ours] != [y[:2] for y in theirs]:
        return f"is {[y[:2] for y in ours]}, not {[y[:2] for y in theirs]}"
    far = [abs(a[2] - b[2]) > 1e-4 * (1.0 + b[3]) for a, b in zip(ours, theirs)]
    return f"has the checksums {[y[2] for y in ours]}, not {[y[2] for y in theirs]}" if True in far else ""

"""Write the source of a kernel from a template and a scalar function: one readable module for each kernel.

`pasting.py` expands the free names of a template.  `write_kernel` writes a whole module, with the conversions of its
dtypes.  `store.py` stores the module and compiles it, so a learner can open the file that runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from minigrad.core.dtype import DType, as_dtype, int64
from minigrad.core.op import ScalarFn
from minigrad.kernels import half, integer
from minigrad.kernels.cpu.target import CPU
from minigrad.kernels.fields import Fields, Loop
from minigrad.kernels.macros import call_macro, expression_macro, scalar_macro
from minigrad.kernels.pasting import Late, Macro, Part, paste, source_of
from minigrad.kernels.scalar import INTEGER, INTEGER_CALLS
from minigrad.kernels.target import Target

NOTHING: Mapping[str, Any] = MappingProxyType({})

# ---- conversions ----------------------------------------------------------------------------------------------------


def load_text(dtype: DType, compute: np.dtype[Any], target: Target = CPU) -> tuple[str, tuple[str, ...]]:
    """Return the expression in `{}` that converts a stored value to a compute value, and the helpers it calls."""
    helpers: tuple[str, ...]
    if dtype.name == "float16":
        text, helpers = "half_to_float({})", ("half_to_float",)
    elif dtype.name == "bfloat16":
        text, helpers = "bfloat_to_float({})", ("bfloat_to_float",)
    else:
        text, helpers = target.truths[0] if dtype.kind == "bool" else "{}", ()
    return (text if dtype.compute == compute else f"T({text})"), helpers


def store_text(
    compute: np.dtype[Any], dtype: DType, target: Target = CPU, several: bool = False
) -> tuple[str, tuple[str, ...]]:
    """Return the expression in `{}` that converts a compute value to a stored value, and the helpers it calls.

    several: whether the kernel has results of several dtypes; then the names of its helpers contain the dtype.
    """
    if compute.kind == "c" and dtype.kind == "bool":
        return "({}) != 0", ()
    if compute.kind == "c" and not dtype.is_complex:
        return f"np.{dtype.compute}(({{}}).real)", ()  # the value is real: see `promises.expect_real`
    if dtype.name in ("float16", "bfloat16"):
        pack = "float_to_half" if dtype.name == "float16" else "float_to_bfloat"
        if compute == np.float64:
            return f"{pack}(round_to_odd({{}}))", ("round_to_odd", pack)
        return (f"{pack}({{}})" if compute == np.float32 else f"{pack}(np.float32({{}}))"), (pack,)
    if dtype.is_int and compute.kind == "f":
        return (
            (f"saturate_{dtype}({{}})", (f"saturate_{dtype}",)) if several else ("saturate({})", (f"saturate:{dtype}",))
        )
    if dtype.kind == "bool":
        return target.truths[1], ()
    return ("{}" if dtype.compute == compute else f"np.{dtype.compute}({{}})"), ()


def saturate_text(dtype: DType, function: str = "saturate") -> str:
    """Return the source of `saturate`, which converts a float to an integer dtype.

    It rounds toward zero, clamps values outside the dtype to its lowest or highest value, and converts nan to 0.
    """
    name, low, high = dtype.compute, int(dtype.lowest), int(dtype.highest)
    return (
        f"def {function}(x):\n"
        f"    if x != x:\n        return np.{name}(0)\n"
        f"    if x <= T({low}):\n        return np.{name}({low})\n"
        f"    if x >= T({high}):\n        return np.{name}({high})\n"
        f"    return np.{name}(x)\n"
    )


HALVES = ("half_to_float", "float_to_half")


def helper_text(name: str, dtypes: dict[str, DType]) -> str:
    """Return the source of one pasted helper, without its decorator."""
    kind, _, dtype = name.partition(":")
    if kind == "saturate":
        return saturate_text(dtypes[dtype])
    if kind.startswith("saturate_"):
        return saturate_text(dtypes[kind.removeprefix("saturate_")], kind)
    return source_of(getattr(half, kind, None) or getattr(integer, kind)).text


# ---- modules --------------------------------------------------------------------------------------------------------


def write_kernel(
    title: str,
    template: Callable[..., Any],
    *,
    out: DType | tuple[DType, ...],
    compute: np.dtype[Any] | None = None,
    operands: Sequence[DType] = (),
    macros: Mapping[str, Any] = NOTHING,
    constants: Mapping[str, Any] = NOTHING,
    imports: str = "",
    helpers: Sequence[Callable[..., Any]] = (),
    fastmath: Sequence[str] = (),
    inlined: bool = False,
    fields: Fields | None = None,
    results: str = "out",
    accumulators: int = 1,
    arrays: Sequence[DType | np.dtype[Any] | str] | None = None,
    target: Target = CPU,
) -> str:
    """Return the whole text of a kernel module: a header, conversion helpers, and the pasted loop nest as `kernel`.

    The macros LOAD_0, LOAD_1, ... and STORE are defined here from the dtypes; `macros` and `constants` add more.  If
    `out` is a tuple of dtypes, there are several results, and `stores_macro` stores each of them.

    `compute` is the dtype of registers, by default that of the (first) result.  `helpers` are functions that the loop
    nest calls; they are expanded like the loop nest, and pasted above it in this order.  `fastmath` names the
    relaxations of float arithmetic in the helpers ("reassoc"); an op that uses them documents this.  `inlined`: whether
    the compiler must inline the helpers.

    `fields` names the numbers.  `results` are the names of the results if a template's `out` stands for several.
    `accumulators` is their count in a reduction.  `arrays` are the dtypes of the template's arguments except the
    numbers: by default the operands and the result, "table" for the whole table, () for a template that reads the table
    itself.  `target` is the processor.
    """
    conversions: dict[str, None] = {}
    outs = out if isinstance(out, tuple) else (out,)
    compute = outs[0].compute if compute is None else compute
    several = len(outs) if isinstance(out, tuple) else 0
    dtypes = {d.name: d for d in (*operands, *outs)}
    all_macros = dict(macros)
    for k, dtype in enumerate(operands):
        text, needed = load_text(dtype, compute, target)
        all_macros[f"LOAD_{k}"] = expression_macro(text)
        conversions |= dict.fromkeys(needed)
    for dtype in outs:
        text, needed = store_text(compute, dtype, target, several > 0)
        if not several:
            all_macros["STORE"] = expression_macro(text)
        conversions |= dict.fromkeys(needed)
    names = dict(constants)
    counts = max(several, 1), accumulators
    body = target.guarded(paste(template, len(operands), all_macros, names, fields, target.walk, *counts))
    body = body.replace(f"def {template.__name__}(", "def kernel(", 1)
    body = body.replace(", out, numbers):", f", {results}, numbers):", 1)
    # The count of groups of numbers except the first one; `entry` adds it.
    groups = len(operands) + (len(outs) if fields is None or fields.results else 0) - 1
    body = target.entry(
        body, source_of(template).start, (*operands, *outs) if arrays is None else arrays, fields, groups
    )
    imports = target.natives() + imports
    above = [paste(function, len(operands), all_macros, names, fields, target.walk, *counts) for function in helpers]
    pasted = "".join([imports, body, *above])
    conversions |= dict.fromkeys(name for name in (*INTEGER.values(), *INTEGER_CALLS.values()) if f"{name}(" in pasted)
    if compute.kind in "iu" and "saturate(" in pasted:
        dtypes[str(compute)] = as_dtype(compute)
        conversions[f"saturate:{compute}"] = None
    if not conversions.keys().isdisjoint(HALVES):
        imports += target.halves()
    parts = [
        f'"""{title}\n\nWritten by minigrad, compiled by Numba; safe to delete.\n"""\n',
        target.header + imports,
        f"T = np.{compute if compute.kind != 'b' else 'bool_'}\n",
    ]
    parts += target.functions(pasted)
    above = [helper_text(name, dtypes) for name in conversions if name not in HALVES] + above
    parts += [target.helper(fastmath, inlined) + text for text in above]
    parts.append(target.kernel + body)
    return "\n".join(parts)


# ---- loops ----------------------------------------------------------------------------------------------------------


def write_loop(
    template: Callable[..., Any], dtypes: Sequence[Any], words: Mapping[str, Any] | Late = NOTHING, form: str = "",
    compute: np.dtype[Any] | None = None, target: Target = CPU, lengths: Mapping[str, int] = NOTHING,
) -> tuple[str, str]:  # fmt: skip
    """Return the name and the text of the kernel of a template that is marked by `loop`.

    dtypes: those of its arrays; None for an array that a kernel of a device does not have.  compute: as for
    `write_kernel`.  form: a word for the name of the kernel, if a template has several forms; with `{}`, the whole
    name, in which `{}` is replaced by the dtypes.  lengths: of lists of numbers, if they are constants of the kernel.

    words: the meanings of the words of the template: a scalar function; an expression, which is a text with `{0}`; a
    `Macro`, or a `Late` that makes one; a helper, which is a function of a kernel; a sequence of `Part`s; otherwise a
    constant.  A constant of the template's module needs no entry.  The lines of `imports` are added to the header;
    `fastmath` and `inlined` are those of `write_kernel`.  `RESULTS` and `accumulators` are the numbers of the arrays
    `out_R` and `work_S`, and `arrays` the names of those that `out` represents.  `name` is the name of the kernel if it
    does not contain that of the template, with `{reads}` for the dtypes of the operands, and `{all}` for these and
    those of the results.
    """
    loop: Loop = template.loop  # type: ignore[attr-defined]
    options = dict(loop.options)
    own = words.make(*words.arguments) if isinstance(words, Late) else words
    words = {**options.pop("words", NOTHING), **own}
    header, imports = options.pop("imports", None), words.pop("imports", "")
    options |= {option: words.pop(option) for option in ("fastmath", "inlined") if option in words}
    helpers = [each for each in words.values() if isinstance(each, FunctionType)]
    more_helpers = options.pop("helpers", ())
    helpers += more_helpers(words) if callable(more_helpers) else more_helpers
    macros: dict[str, Any] = {}
    constants = constants_of(template, *helpers)
    named = words.pop("arrays", ("out",))
    counted = loop.table or "out_R" in loop.arrays
    results = words.get("RESULTS", loop.results) if counted else loop.results
    accumulators = words.pop("accumulators", 1)
    operands, outs = conversions_of(loop, dtypes, named, results, accumulators)
    registers = compute or (outs[0].compute if outs else None)
    outs = tuple([as_dtype(registers) if dtype is None else dtype for dtype in outs])
    arrays = [dtype for dtype in dtypes if dtype is not None]
    name = name_of(template, form, words.pop("name", ""), operands, outs, arrays)
    for word, value in words.items():
        if getattr(value, "__name__", "") == word:
            continue  # a helper that the template calls by its name
        macro = macro_of(value, registers, target)
        (constants if macro is None else macros)[word] = value if macro is None else macro
    text = write_kernel(
        f"{name}, from {template.__module__.removeprefix('minigrad.').replace('.', '/')}.py.",
        template,
        operands=operands,
        out=outs[0] if len(outs) == 1 and not (loop.table or "out_R" in loop.arrays) else outs or int64,
        compute=registers,
        macros=macros,
        constants=constants,
        imports=imports + (header(words, outs[0] if outs else None, (template, *helpers)) if header else ""),
        helpers=helpers,
        fields=loop.fields.fixed(lengths),
        results=", ".join(named),
        accumulators=accumulators,
        arrays=("table",) * len(loop.arrays) if loop.table else arrays,
        target=target,
        **options,
    )
    more = len(dtypes) - len(loop.arrays) - results + loop.results
    for absent in [loop.arrays[max(0, k - more)] for k, dtype in enumerate(dtypes) if dtype is None]:
        text = re.sub(rf"(def kernel\(.*?), {absent}\b", r"\1", text)
    return name, text


def name_of(
    template: Callable[..., Any], form: str, name: str, operands: Sequence[Any], outs: Sequence[Any], arrays: Any
) -> str:
    """Return the name of a kernel; form, name: as for `write_loop`."""
    if name:
        reads, every = ("_".join([dtype.short for dtype in each]) for each in (operands, (*operands, *outs)))
        return name.format(reads=reads, all=every)
    kinds = [each.short for each in arrays if isinstance(each, DType)]
    if "{}" in form:
        return form.format("_".join(kinds))
    shown = dict.fromkeys([kind for kind in kinds if kind != "i64"] or kinds)  # int64 is the dtype of positions
    return "_".join(filter(None, [template.__name__, form, *shown]))


def conversions_of(
    loop: Loop, dtypes: Sequence[Any], named: Sequence[str], results: int, accumulators: int
) -> tuple[Sequence[Any], tuple[Any, ...]]:
    """Return the dtypes of the arrays that a kernel converts when it reads them, and when it writes them.

    A kernel of a device may lack arrays, whose dtypes are None.
    named, results, accumulators: as in the words of `write_loop`.
    """
    if loop.table:
        return dtypes, tuple(dtypes[:results])
    arrays = [each for name in loop.arrays for each in (named if name == "out" else (name,))]
    counts = {"R": results, "S": accumulators}
    operands, more = [dtypes[k] for k in loop.loads], 0
    if "in_K" in arrays:
        start, more = arrays.index("in_K"), len(dtypes) - sum(counts.get(each[-1], 1) for each in arrays)
        operands = list(dtypes[start : start + 1 + more])
    first = len(dtypes) - results if "out_R" in arrays else loop.first + more + ("work" in named)
    return [dtype for dtype in operands if dtype], tuple(dtypes[first : first + results])


def constants_of(*functions: Callable[..., Any]) -> dict[str, Any]:
    """Return the numbers in capitals that templates read from their modules."""
    constants = {}
    for function in functions:
        for name in source_of(function).names:
            value = function.__globals__.get(name)
            if name.isupper() and isinstance(value, int | float):
                constants[name] = value
    return constants


def macro_of(word: Any, compute: np.dtype[Any] | None, target: Target) -> Any:
    """Return the macro of a word, or None if the word is a constant."""
    if isinstance(word, ScalarFn):
        assert compute is not None
        return scalar_macro(word, compute, target)
    if isinstance(word, Late):
        return word.make(*word.arguments)
    if isinstance(word, Macro):
        return word.expand
    if isinstance(word, str):
        return expression_macro(word) if "{" in word else None
    if isinstance(word, list) or (isinstance(word, tuple) and word and isinstance(word[0], Part)):
        return list(word)
    return call_macro(word.__name__) if isinstance(word, FunctionType) else None

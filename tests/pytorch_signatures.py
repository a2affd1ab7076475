"""PyTorch's signatures of the functions that minigrad has too, stored, so that tests need no PyTorch.

`python -m tests.pytorch_signatures` writes `pytorch_signatures.json` again from the type stubs of an installed PyTorch.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minigrad as mg

TABLE = Path(__file__).with_suffix(".json")
# Arguments for sparse, named, complex and pinned tensors: minigrad has none of these.
ABSENT = {"layout", "pin_memory", "names", "is_coalesced", "_stacklevel"}
MODULES = {"torch": mg, "torch.nn.functional": mg.nn.functional, "torch.linalg": mg.linalg,
           "torch.special": mg.special, "torch.fft": mg.fft}  # fmt: skip

Signature = list[list[str]]  # [name, kind, default] of each parameter; kind: "any", "keyword" or "many"


def ours() -> Iterator[tuple[str, Any]]:
    """Public functions with the name by which PyTorch may have them: "torch.add"."""
    for prefix, module in MODULES.items():
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function):
                yield f"{prefix}.{name}", function


def differences(function: Any, overloads: list[Signature]) -> list[str]:
    """How a function's signature differs from PyTorch's; [] if it agrees with one overload and has all keywords."""
    mine = inspect.signature(function).parameters
    missing = {p[0] for overload in overloads for p in overload if p[1] == "keyword"} - set(mine) - ABSENT
    found = [f"has no {name}=" for name in sorted(missing)]
    each = [positional(mine, overload) for overload in overloads]
    return found + min(each, key=len)


def positional(mine: Any, overload: Signature) -> list[str]:
    """How the parameters that may be given by position differ from those of one overload."""
    many = [p.name for p in mine.values() if p.kind is p.VAR_POSITIONAL]
    names = [p.name for p in mine.values() if p.kind is not p.KEYWORD_ONLY and p.name not in ABSENT]
    theirs = [p for p in overload if p[1] != "keyword" and p[0] not in ABSENT]
    if [p[1] for p in theirs] == ["many"] or many:
        leading = [p[0] for p in theirs[:-1]]  # the last one is *sizes, or the keyword for all of them
        same = bool(many and theirs) and names[: len(leading)] == leading and theirs[-1][0] in mine
        return [] if same else [f"takes *{many}"]
    wrong = [
        f"parameter {k} is {names[k] if k < len(names) else 'absent'}, not {name}"
        for k, (name, _, _) in enumerate(theirs) if k >= len(names) or names[k] != name
    ]  # fmt: skip
    for name, _, default in theirs:
        if name in mine and not same_default(mine[name].default, default):
            wrong.append(f"{name}={mine[name].default!r}, not {default}")
    return wrong


def same_default(mine: Any, theirs: str) -> bool:
    """Whether a default is that of a stub, "" for none."""
    if not theirs:
        return mine is inspect.Parameter.empty
    try:
        value = ast.literal_eval(theirs)
    except ValueError:
        return True  # a name of PyTorch's own
    if value is ...:
        return mine is not inspect.Parameter.empty
    return bool(mine == value) or (value in (None, (), [], ...) and mine in (None, (), []))


# ---- reading an installed PyTorch -----------------------------------------------------------------------------------


def stored() -> dict[str, list[Signature]]:
    """The table: every overload by name."""
    found: dict[str, list[Signature]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return found


def read() -> dict[str, list[Signature]]:
    """The overloads of the shared names in an installed PyTorch."""
    import torch

    root = Path(torch.__file__).parent
    stubs = {
        "torch": functions(root / "_C" / "_VariableFunctions.pyi"),
        "torch.nn.functional": functions(root / "_C" / "_nn.pyi") | functions(root / "nn" / "functional.pyi"),
    }
    found = {}
    for name, _ in ours():
        prefix, _, short = name.rpartition(".")
        overloads = stubs.get(prefix, {}).get(short)
        if overloads is None and inspect.isfunction(native := getattr(eval(prefix, {"torch": torch}), short, None)):
            overloads = [of_function(native)]
        documented = {"torch.linalg": torch.linalg, "torch.special": torch.special, "torch.fft": torch.fft}.get(prefix)
        if overloads is None and hasattr(documented, short):
            overloads = [of_docstring(getattr(documented, short))]
        if overloads is None and prefix == "torch.nn.functional" and hasattr(torch.nn.functional, short):
            overloads = stubs["torch"].get(short)
        if overloads:
            found[name] = overloads
    return found


def functions(path: Path) -> dict[str, list[Signature]]:
    """The overloads of each function of a stub file, without deprecated ones and those of named dims."""
    found: dict[str, list[Signature]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            overload = of_definition(node)
            named = any("EllipsisType" in ast.unparse(a.annotation) for a in node.args.args if a.annotation)
            if not named and (not overload or overload[0][0] != "self") and overload not in found.get(node.name, []):
                found.setdefault(node.name, []).append(overload)
    return found


def of_definition(node: ast.FunctionDef) -> Signature:
    """The parameters of a stub's function."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    found = [[a.arg, "any", ast.unparse(d) if d else ""] for a, d in zip(plain, defaults)]
    if given.vararg:
        found.append([given.vararg.arg, "many", ""])
    return found + [
        [a.arg, "keyword", ast.unparse(d) if d else ""] for a, d in zip(given.kwonlyargs, given.kw_defaults)
    ]


def of_docstring(function: Any) -> Signature:
    """The parameters of a function that has a signature in the first line of its docstring only."""
    line = inspect.getdoc(function).partition("\n")[0].partition("(")[2]  # type: ignore[union-attr]
    given = line.partition(") ->")[0] if ") ->" in line else line.rpartition(")")[0]
    given = re.sub(r"\bbool (?=\w)", "", given)  # a type as in C++, in front of a name
    node = ast.parse(f"def f({given}): ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    return of_definition(node)


def of_function(function: Any) -> Signature:
    """The parameters of a Python function."""
    kinds = {"VAR_POSITIONAL": "many", "KEYWORD_ONLY": "keyword"}
    return [
        [p.name, kinds.get(p.kind.name, "any"), "" if p.default is p.empty else repr(p.default)]
        for p in inspect.signature(function).parameters.values()
    ]


if __name__ == "__main__":
    TABLE.write_text(json.dumps(read(), indent=0, sort_keys=True).replace('\n[\n"', '\n["') + "\n", encoding="utf-8")
    print(f"{TABLE}: {len(stored())} functions")

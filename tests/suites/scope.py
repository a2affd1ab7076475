"""Which tests of a file are compared?

Tests of features that minigrad does not have by design are out of scope: sparse, quantized, nested and meta tensors,
`torch.jit`, `torch.fx`, compilers, profilers, several devices, and private names. The source text of a test decides,
together with the text of the methods that it calls on itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

OUTSIDE = re.compile(
    r"sparse_|_sparse|Sparse|[.]sparse\b|sparse=True|quanti[sz]e|nested_tensor|jagged|mkldnn|FakeTensor|TwoTensor"
    r"|torch[.](jit|fx|compile|package|hub|overrides|ao|export|library|ops|multiprocessing)\b|dynamo|inductor"
    r"|[\"']meta[\"']|[\"'](cuda|mps|xla)[:\"'][)]|TorchDispatchMode|__torch_|profile|float8|complex32|chalf|crossref"
    r"|\b(?!self\b|cls\b)\w+[.]_(?!saved)[a-zA-Z]\w*|[\])][.]_(?!saved)[a-z]|import _"
    r"|[(,]\s*_[a-z]\w*=|functionalize"
)
OUTSIDE_NAME = re.compile(
    r"__refs_|__foreach_|_masked_(sum|prod|mean|std|var|a?max|a?min|arg|norm|median|cum|logs|soft|normalize)|[sS]parse|complex32|float8|quint|qint|named_tensor|_meta|cuda|nested|jit|dynamo|profiler|fx_|logging_tensor"
)
KINDS = {
    "bool": "bool",
    "uint8": "uint8",
    "int": "int64",
    "float": "float32",
    "bfloat": "float32",
    "complex": "complex64",
}
DTYPE = re.compile(r"_(bool|uint8|uint(?=16|32|64)|int|float|bfloat|complex)(\d*)")


def sources(path: Path) -> dict[str, str]:
    """The text of each function of a file, by its name; functions of one name are joined."""
    text = path.read_text(encoding="utf-8")
    lines, found, private, tree = text.splitlines(), dict[str, str](), set[str](), ast.parse(text)
    for node in ast.walk(tree):
        for each in node.names if isinstance(node, ast.ImportFrom) else ():
            full = f"{node.module}.{each.name}"
            if "._" in full and not full.startswith(("torch.testing.", "torch.utils._pytree")):
                private.add(each.asname or each.name)
        if isinstance(node, ast.FunctionDef):
            body = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            found[node.name] = found.get(node.name, "") + body
    for node in tree.body:  # objects that a function with private names makes, and subclasses of tensors
        call = node.value if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.ClassDef) and "__torch_" in "\n".join(lines[node.lineno : node.end_lineno]):
            private.update([node.name] * any(getattr(each, "attr", "") == "Tensor" for each in node.bases))
        if isinstance(call, ast.Call) and OUTSIDE.search(found.get(getattr(call.func, "id", ""), "")):
            private.update([each.id for each in node.targets if isinstance(each, ast.Name)])
    for name, body in found.items():
        if private & set(re.findall(r"\w+", body)):
            found[name] += "\nimport _"
    return found


def base(name: str, texts: dict[str, str]) -> str:
    """The function from which an instance such as `test_add_cpu_float32` was made."""
    while name and name not in texts:
        name = name.rpartition("_")[0]
    return name


def outside(name: str, texts: dict[str, str], known: dict[str, bool]) -> bool:
    """Does a test need a feature that minigrad does not have by design? `known` stores the answers of a file."""
    if OUTSIDE_NAME.search(name):
        return True
    first = base(name.partition("[")[0], texts)
    if first not in known:
        seen, todo = set[str](), [first]
        while todo:
            each = todo.pop()
            if each in texts and each not in seen:
                seen.add(each)
                todo += re.findall(r"self[.](\w+)\(", texts[each])
        known[first] = any(OUTSIDE.search(re.sub(r"#.*", "", texts[each])) for each in seen)
    return known[first]


def few(names: Iterable[str]) -> set[str]:
    """Choose one test per kind of dtype, of the tests that differ in their dtypes only."""
    chosen: dict[tuple[str, ...], tuple[bool, str]] = {}
    for name in names:
        suffix = name.rpartition("_cpu")[2] if "_cpu" in name else ""
        found = DTYPE.findall(suffix)
        kinds = tuple(kind.removeprefix("b") if kind == "bfloat" else kind for kind, _ in found)
        preferred = all(kind + bits == KINDS.get(kind, "") for kind, bits in found)
        key = (name[: len(name) - len(suffix)], DTYPE.sub("", suffix), *kinds)
        if key not in chosen or (preferred and not chosen[key][0]):
            chosen[key] = (preferred, name)
    return {name for _, name in chosen.values()}

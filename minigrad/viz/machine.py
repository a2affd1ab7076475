"""The code of an op: its scalar function, the loops around it, the LLVM IR and the assembly, for the forward pass and
the backward pass.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from minigrad.core.op import Op
from minigrad.declare.fused import Unfusable, fuse
from minigrad.diagnostics.flow import Step
from minigrad.diagnostics.formula import Writing, enumerate_operands, followed, rule_of
from minigrad.errors import GradientError
from minigrad.kernels.store import listings, source
from minigrad.ops.creation import ones
from minigrad.runtime.graph import BackpropOp
from minigrad.runtime.tensor import Tensor
from minigrad.viz.explain import files_of, kernel_files, op_of
from minigrad.viz.picture import Picture

WIDTHS = {"zmm": 512, "ymm": 256, "xmm": 128}  # registers of x86, in bits
ARITHMETIC = re.compile(r"^\s*v?(add|sub|mul|div|sqrt|min|max|fmadd|fmsub|fnmadd|fnmsub)\w*p[sdh]\b", re.MULTILINE)
NOISE = re.compile(r"^\s*\.(cfi|p2align|size|type|globl|section|text|file|ident|weak|hidden)\w*.*$\n?", re.MULTILINE)


@dataclass(frozen=True)
class Listing:
    """Store the texts of one kernel that ran.

    `title` is the name of the op.  `scalar` is the source of the op's scalar function, or "" without one.  `loops` is
    the source code that was compiled.  `llvm` and `assembly` are the LLVM IR and the assembly of the kernel, or "" if
    they were not requested.  `facts` describes the vector instructions in the assembly.
    """

    title: str
    file: str
    scalar: str
    loops: str
    llvm: str
    assembly: str
    facts: str


def kernel(y: Tensor, machine: bool = True) -> Picture:
    """Show the kernels of the op that made y, and the kernels of its backward rules, side by side.

    machine: Whether to show the LLVM IR and the assembly of CPU kernels. Each kernel is compiled again for this, which
    takes some tenths of a second.

    Raises GradientError if no op is recorded for `y`, or the graph was freed.
    Raises KernelError if `machine` is True and NUMBA_DISABLE_JIT=1 prevents compilation.
    """
    node = op_of("viz.kernel", y)
    if node.saved is None and node.op.saves[node.mask]:
        raise GradientError(
            "viz.kernel: the graph was freed by an earlier backward(); call viz.kernel before backward(), or pass "
            "retain_graph=True to it"
        )
    machine = machine and node.plan.device.kind == "cpu"
    files = files_of(node) if node.plan.launch is not None else []
    columns = {"forward": [listing(node.op, file, machine) for file in files]}
    for k, title, shown in backward(node, machine):
        columns[f"backward, to {title}" if title else f"backward {k}"] = shown
    heading = f"{node.op.label}: the kernels of the call, and of the backward pass"
    return Picture(heading, as_text(columns), html=as_html(heading, columns))


def backward(node: BackpropOp, machine: bool) -> list[tuple[int, str, list[Listing]]]:
    """Return (index, name, kernels) for each operand that receives a gradient; these kernels are run by the engine."""
    heads = [ones(out.shape, dtype=out.dtype, device=node.plan.device) for out in node.plan.outs]
    step = Step(node, list(heads), [], 0.0)
    result = []
    for k, pick in enumerate_operands(node):
        rule = rule_of(node, k)
        if rule is None:
            continue
        writing = Writing()
        try:
            followed(writing, step, k, pick, rule.fn if node.op.variadic else rule.fused or fuse(node.op, k))
        except Unfusable:
            writing = Writing()
            followed(writing, step, k, pick, rule.fn)
        made = []
        for op, _, params, reads, _ in writing.program.calls:
            if op is not None and op.kind != "view":
                specs = [(x.layout, x.dtype) for x in [writing.program.values[slot] for slot in reads]]
                made += [listing(op, file, machine) for file in kernel_files(op, specs, node.plan.device, params)]
        name = node.op.operands[0 if node.op.variadic else k]
        result.append((k, name, list({each.file: each for each in made}.values())))
    return result


def listing(op: Op, file: str, machine: bool) -> Listing:
    """Return the listing of one kernel."""
    scalar = "" if op.scalar is None else ast.unparse(op.scalar.node)
    llvm = assembly = facts = ""
    if machine:
        name, llvm, assembly = listings(file)
        llvm = function_of(llvm, name)
        assembly = NOISE.sub("", body_of(assembly, name))
        facts = vectors(assembly)
    return Listing(op.name, file, scalar, source(file), llvm, assembly, facts)


def function_of(llvm: str, name: str) -> str:
    """Return the text of one function of an LLVM module."""
    function = re.search(rf'^define [^\n]*@"?{re.escape(name)}"?\(.*?^}}', llvm, re.MULTILINE | re.DOTALL)
    return function.group() if function else llvm


def body_of(assembly: str, name: str) -> str:
    """Return the assembly lines of one function."""
    start = re.search(rf'^"?{re.escape(name)}"?:', assembly, re.MULTILINE)
    if start is None:
        return assembly
    end = re.search(r"^\s*\.size\b", assembly[start.start() :], re.MULTILINE)
    return assembly[start.start() : start.start() + end.start()] if end else assembly[start.start() :]


def vectors(assembly: str) -> str:
    """Return a text about the number and the width of the vector instructions in x86 assembly."""
    packed = [line for line in assembly.splitlines() if ARITHMETIC.match(line)]
    if not packed:
        return "no vector arithmetic"
    widest = next((bits for name, bits in WIDTHS.items() if any(f"%{name}" in line for line in packed)), 128)
    return f"{len(packed)} instructions of vector arithmetic, up to {widest} bits wide"


def as_text(columns: dict[str, list[Listing]]) -> str:
    """Return the scalar functions and the loops as text, one column after another."""
    lines = []
    for title, kernels in columns.items():
        lines.append(f"== {title}")
        if not kernels:
            lines.append("no kernel: the gradient is passed on as it is, or as a view")
        for each in kernels:
            lines += [f"-- {Path(each.file).name}", *([each.facts] if each.facts else []), each.scalar, each.loops]
    return "\n".join(lines)


def as_html(heading: str, columns: dict[str, list[Listing]]) -> str:
    """Return one column for the call and one per gradient; LLVM IR and assembly are collapsed initially."""
    made = []
    for title, kernels in columns.items():
        parts = [f"<h4>{escape(title)}</h4>"]
        parts += ["<p>no kernel: the gradient is passed on as it is, or as a view</p>"] if not kernels else []
        for each in kernels:
            parts.append(f"<p><code>{escape(Path(each.file).name)}</code><br>{escape(each.facts)}</p>")
            views = (("function of one element", each.scalar, True), ("the loops around it", each.loops, True),
                     ("LLVM", each.llvm, False), ("assembly", each.assembly, False))  # fmt: skip
            for name, text, opened in views:
                if text:
                    state = " open" if opened else ""
                    parts.append(f"<details{state}><summary>{name}</summary><pre>{escape(text)}</pre></details>")
        made.append(f"<div>{''.join(parts)}</div>")
    return f'<div class="mg-columns" role="group" aria-label="{escape(heading)}">{"".join(made)}</div>'

"""The module that `Jitted.source` returns: `run`, the functions it calls, and `back` for gradients taken outside."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from minigrad.errors import quantity
from minigrad.jitting.differentiable import DifferentiableEntry
from minigrad.jitting.guards import name_of
from minigrad.jitting.loops import shown
from minigrad.jitting.naming import covering
from minigrad.jitting.program import Item
from minigrad.jitting.source import Source, fitted
from minigrad.runtime.tensor import Tensor

VIEW = '''def view(array, shape, strides, offset=0):
    """Return the memory of an array with another shape; strides and offset count elements."""
    start = array.reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(start, shape, [s * array.itemsize for s in strides])'''


class BackwardSource(Source):
    """The text of the backward program that starts at all results: the function `back`.

    forward: the text of `run`, whose parameters keep their names.
    """

    def __init__(self, entry: DifferentiableEntry, forward: Source) -> None:
        self.forward, self.first = forward, len(entry.tape.items)
        self.backward = entry.backward[tuple(range(len(entry.recording.seeds)))]
        with entry.lock():
            self.backward.prepared()
        # The line of each launch is that of the call which was recorded, so it is not written as a comment.
        self.shown = shown(next((item.line for item in self.backward.tape.items), ""))
        taken = [name for name, slot in forward.parameters.items() if slot is not None]
        super().__init__(entry, self.backward.tape, taken, forward.writer.speller)

    def takes(self, slot: int | None) -> bool:
        return slot in self.used if slot is not None else any(each in self.used for each in self.symbols)

    def parameter(self, slot: int, name: str, layout: Any) -> Any:
        known = self.forward.arrays.arrays.get(slot)
        if known is None or known.name not in self.forward.parameters:
            return super().parameter(slot, name, layout)
        self.arrays.arrays[slot] = known
        self.arrays.flat |= {slot} & self.forward.arrays.flat
        self.parameters[known.name] = slot
        return known

    def name_results(self) -> None:
        """Name the gradients of the results, the memory that `run` has kept, and the gradients that `back` writes."""
        made, recorded = self.recording, self.backward.recorded
        leaves = [x for x, leaf in zip(made.leaves, made.results) if leaf is not None and isinstance(x, Tensor)]
        graph = [x for x in {id(x): x for x in leaves}.values() if id(x) in made.graph_results]
        self.incoming: list[str] = []
        for x, seed in zip(graph, made.seeds, strict=True):
            position = next(k for k, each in enumerate(leaves) if each is x)
            name = "result_grad" if len(leaves) == 1 else f"result_{position}_grad"
            self.incoming.append(self.parameter(seed.slot, name, covering([seed.layout], self.memory[seed.slot])).name)
        for slot in self.entry.kept_slots:
            if slot in self.used:
                array = self.parameter(slot, "kept", None)
                self.kept[array.name] = array
        for x, g in zip(recorded.targets, recorded.pulled, strict=True):
            array = self.parameter(g.slot, f"{self.owner(x)}_grad", covering([g.layout], self.memory[g.slot]))
            self.results[array.name] = array

    def owner(self, x: Tensor) -> str:
        """Return the name of a tensor in the text of `run`."""
        made, arrays = self.recording, self.forward.arrays.arrays | self.arrays.arrays
        position = self.entry.argument_of(x)
        if position is not None:
            slots = [made.argument_slots[position][0]]
        else:
            slots = [s for s, (holder, part) in made.holders.items() if not part and holder.storage is x.storage]
        return next((arrays[slot].name for slot in slots if slot in arrays), "variable")


def functions_of(entry: Any) -> dict[str, Any]:
    """Return the texts of `run` and, if the results have a graph, of `back`."""
    run = Source(entry)
    return {"run": run, "back": BackwardSource(entry, run)} if isinstance(entry, DifferentiableEntry) else {"run": run}


def module(entry: Any) -> str:
    """Return the module of a program."""
    functions = functions_of(entry)
    helpers = functions["run"].writer.speller.texts.values()
    lines = [line for source in functions.values() for line in (*source.top, *source.writer.lines)]
    uses_math = any("math." in text for text in helpers) or any("math." in x.partition("#")[0] for x in lines)
    imports = "import math\n\nimport numpy as np" if uses_math else "import numpy as np"
    views = any(source.arrays.views or source.has_views for source in functions.values())
    texts = [*map(fitted, helpers), *([VIEW] if views else []), *[s.function(name) for name, s in functions.items()]]
    doc = "\n".join(docstring(**functions))
    return "\n\n\n".join([f'"""{doc}\n"""\n\n{imports}', *texts]) + "\n"


def docstring(run: Source, back: BackwardSource | None = None) -> Iterator[str]:
    """Write the docstring of the module."""
    sources = [run] if back is None else [run, back]
    calls = dict.fromkeys([call for source in sources for call in source.calls])
    after = sum(len(source.tape.items) for source in sources)
    before = len(run.entry.program.items) + (0 if back is None else len(back.backward.program.items))
    name = name_of(run.entry.function)
    yield f"One call of `{name}` as plain loops over NumPy arrays{'' if calls else ', without minigrad'}."
    yield ""
    text = f"minigrad recorded {quantity(before, 'operation')}. "
    fused = any(item.fused for source in sources for item in source.tape.items if isinstance(item, Item))
    text += f"Operations on the same elements share a loop, so {remaining(after)} here. " if fused else ""
    text += "The comments are the lines of your code; loops below a line with `.backward()` compute gradients. "
    if back is not None:
        text += "`run` computes the results, and `back` computes gradients from the gradients of the results. "
    text += "`t0`, `t1`, ... are intermediate values, `a[()]` is the number in an array without dims, and "
    text += "`np.ndindex(5, 8)` yields all pairs of indices. `run` reads and writes these arrays:"
    yield from textwrap.wrap(text, 110)
    yield ""
    yield from listed(run, {"results, which it writes": run.results, "kept for `back`, which it writes": run.kept})
    if back is not None:
        yield ""
        yield "`back` reads and writes these arrays:"
        yield ""
        incoming = dict.fromkeys(back.incoming)
        yield from listed(back, {"gradients of results": incoming, "kept by `run`": back.kept,
                                 "gradients, which it writes": back.results})  # fmt: skip
    if calls:
        passed = [
            f"{' and '.join(f'{call}=step.{call}' for call in source.calls)} to `{name}`"
            for name, source in zip(("run", "back"), sources) if source.calls
        ]  # fmt: skip
        yield ""
        text = f"minigrad runs the calls of {' and '.join(f'`{c}`' for c in calls)}: pass {', and '.join(passed)}."
        yield from textwrap.wrap(text, 100)


def listed(source: Source, groups: dict[str, Iterable[str]]) -> Iterator[str]:
    """Write a line for each group of parameters of a function."""
    named = {*source.outside, *source.constants, *[name for names in groups.values() for name in names]}
    every = {"arguments": [x for x in source.parameters if x not in named], "found outside": source.outside,
             **groups, "constants": source.constants}  # fmt: skip
    texts = {title: [described(source, name) for name in names] for title, names in every.items()}
    texts["arguments without a parameter"] = [f"{x} (in~the~memory~of~{y})" for x, y in source.inside.items()]
    for title, names in texts.items():
        if names:
            lines = textwrap.wrap(f"{title}: {', '.join(names)}", 110, initial_indent="  * ", subsequent_indent="    ")
            yield from [line.replace("~", " ") for line in lines]


def described(source: Source, name: str) -> str:
    """Return a parameter with its dtype and shape."""
    slot = source.parameters[name]
    if slot is None:
        return f"{name}~(a~float)"
    row = ", its memory as one row" if slot in source.arrays.flat else ""
    shape = str(source.arrays.arrays[slot].shape).replace(" ", "~")
    return f"{name} {source.memory[slot].dtype}{shape}{row}"


def remaining(count: int) -> str:
    """Return the number of loops and calls that remain, as part of a sentence."""
    return f"{count} remains" if count == 1 else f"{count} remain"

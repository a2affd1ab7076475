"""The memory of a program by name: the arrays that are parameters of the text of `source.py`, and its temporaries."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from math import prod
from typing import Any

from minigrad.backends.launch import Constant
from minigrad.backends.registry import backend_of
from minigrad.core.layout import Layout
from minigrad.func.trees import flatten
from minigrad.jitting import rowloops  # noqa: F401  this import registers its printers
from minigrad.jitting.arrays import Array, Arrays, covering, identifier, without_ones
from minigrad.jitting.composing import View
from minigrad.jitting.families import Family, Rounds, families_of
from minigrad.jitting.loops import printers
from minigrad.jitting.moving import Made
from minigrad.jitting.program import HostCall, Item, Memory
from minigrad.jitting.spelling import type_of
from minigrad.runtime.tensor import Tensor

SHOWN = 32  # maximum size of a constant that is written into the text; larger constants are parameters
TOGETHER = 6  # maximum number of arrays that one line allocates


def list_of(parts: list[str]) -> str:
    """Return the text of a list, in which equal neighbours are one comprehension."""
    groups = [(text, len([*same])) for text, same in groupby(parts)]
    texts = [f"{text} for _ in range({count})" if count > 1 else text for text, count in groups]
    if len(groups) == 1:
        return f"[{texts[0]}]"
    return f"[{', '.join([f'*[{text}]' if count > 1 else text for text, (_, count) in zip(texts, groups)])}]"


class Naming:
    """Choose the names of the arrays in the text that `Jitted.source` returns.

    items: the parts of each launch, or None for a launch that is not printed as loops.
    rounds: the repeats that are printed as one loop, by the index of their first launch.
    families: the lists of the arrays that they use.
    used: the slots that the text uses, each with the layouts of its views.
    parameters: the parameters of `run`, each with the slot of its memory, or None for a float.
    inside: the arguments without a parameter, each with the parameter in whose memory the argument is.
    top: the lines of the text before the first loop.
    kept: the memory that `run` keeps for the function `back`.
    has_views: whether a line outside `arrays.views` makes a view.
    """

    has_views = False

    def __init__(self, entry: Any, tape: Any = None, taken: Iterable[str] = ()) -> None:
        self.entry, self.recording, self.tape = entry, entry.recording, tape or entry.tape
        self.memory: dict[int, Memory] = dict(entry.program.memory)
        self.arrays = Arrays()
        self.arrays.taken.update(taken)
        self.rounds = {each.repeat.first: each for each in self.repeats()}
        self.items = self.parts()
        self.parameters: dict[str, int | None] = {}
        self.inside: dict[str, str] = {}
        self.names = self.argument_names()
        self.symbols = {slot: text for text, slot in entry.program.symbols}
        self.top: list[str] = []  # the lines of the text before the first loop
        self.outside, self.results, self.constants, self.kept = (dict[str, Array]() for _ in range(4))
        self.used = self.slots()
        self.name_arguments()
        self.name_outside()
        self.name_results()
        self.name_constants()
        self.name_families()
        self.name_temporaries()

    # ---- the launches

    def repeats(self) -> list[Rounds]:
        """Return the repeats that are printed as loops, and find their families."""
        items = self.tape.items
        uses = Counter([slot for item in items if isinstance(item, Item) for slot in item.slots])
        rounds = [Rounds(items, repeat, uses, self.entry.stays, self.memory) for repeat in self.tape.repeats]
        self.families = families_of(rounds)
        moving = [each for each in rounds if each.moves()]
        if len(moving) < len(rounds):  # some views move in another way, so these launches are printed one by one
            for each in moving:
                each.columns.clear()
            self.families = families_of(moving)
        return moving

    def parts(self) -> list[Any]:
        """Return the parts of each launch; of a repeat, only the sample has parts."""
        result, k = list[Any](), 0
        for k, item in enumerate(self.tape.items):
            if k < len(result):
                continue
            rounds = self.rounds.get(k)
            if rounds is None:
                result.append(self.parts_of(item) if isinstance(item, Item) else None)
            else:
                result += [self.parts_of(each) for each in rounds.body]
                result += [None] * (rounds.repeat.end - len(result))
        return result

    def parts_of(self, item: Item) -> list[tuple[Any, list[View], list[View]]] | None:
        """Return the request, the results and the operands of each part; None for a launch that is not printed."""
        launch, slots = item.launch, list(item.slots)
        for made in launch.temporaries:
            slots.append(slot := min(self.memory, default=0) - 1)
            if slot >= 0:
                slot = slots[-1] = -1
            if isinstance(made, Constant):
                store, device = made.storage, self.memory[slots[0]].device
                values = backend_of(device).to_host(store)
                self.memory[slot] = Memory(store.numel, store.dtype, "constant", values, device)
            else:
                self.memory[slot] = Memory(
                    max(1, made.numel), made.dtype, "temporary", None, self.memory[slots[0]].device
                )
        result = []
        for part in launch.parts:
            views = [View(slots[k], spec.layout, spec.dtype) for k, spec in zip(part.slots, part.specs)]
            if type(part.request) not in printers or any(v.dtype.storage != v.dtype.numpy for v in views):
                return None
            count = len(views) - part.results
            result.append((part.request, views[count:], views[:count]))
        return result or None

    def slots(self) -> dict[int, list[Layout]]:
        """Return the slots that the text uses, each with the layouts in which launches see it, writers first."""
        seen: dict[int, list[Layout]] = {}
        end = 0
        for k, (item, parts) in enumerate(zip(self.tape.items, self.items)):
            if k in self.rounds:
                self.slots_of_rounds(self.rounds[k], seen)
                end = self.rounds[k].repeat.end
            if k < end:
                continue
            if isinstance(item, HostCall):
                pairs = [made for _, made in item.gradients if made is not None]
                seen.update({made.slot: [*seen.get(made.slot, []), made.layout] for made in pairs})
                continue
            self.slots_of(item, parts, seen)
        return seen

    def slots_of(self, item: Item, parts: Any, seen: dict[int, list[Layout]]) -> None:
        """Add the layouts with which a launch sees its slots."""
        for _, outs, operands in parts or ():
            for view in (*outs, *operands):
                seen.setdefault(view.slot, []).append(view.layout)
        if parts is None:
            for slot in item.slots:
                seen.setdefault(slot, [])

    def slots_of_rounds(self, rounds: Rounds, seen: dict[int, list[Layout]]) -> None:
        """Add the layouts with which the rounds of a repeat see their slots."""
        own: dict[int, list[Layout]] = {}
        for k, item in enumerate(rounds.body, rounds.repeat.first):
            self.slots_of(item, self.items[k], own)
        for slot, layouts in own.items():
            column = rounds.columns.get(slot)
            slots = [slot] if column is None else column.slots(rounds.repeat.rounds)
            for each in slots:
                seen.setdefault(each, []).extend(layouts)

    def array_in(self, rounds: Rounds | None, slot: int) -> Array | None:
        """Return the array of a slot, of the sample in a repeat; None for a number that each call reads."""
        array, column = self.arrays.arrays.get(slot), rounds.columns.get(slot) if rounds is not None else None
        if array is None or column is None or array.shape == (shape := self.shape_of(column.family.all())):
            return array
        return Array("", shape, Layout.contiguous(shape).strides)

    # ---- names

    def argument_names(self) -> list[str]:
        """Return a name for each leaf of the arguments."""
        args, kwargs = self.entry.recording.args, self.entry.recording.kwargs
        try:
            bound = [*inspect.signature(self.entry.function).parameters][: len(args)]
        except (TypeError, ValueError):
            bound = []
        bound += [f"x{k}" for k in range(len(bound), len(args))]
        names = []
        for name, value in [*zip(bound, args), *kwargs.items()]:
            leaves = flatten(value)[0]
            names += [name] if len(leaves) == 1 else [f"{name}_{k}" for k in range(len(leaves))]
        return [identifier(name) for name in names]

    def name_arguments(self) -> None:
        """Name the memory of the tensors among the arguments, and the floats."""
        made, tensors = self.recording, iter(self.recording.argument_slots)
        leaves = flatten((self.entry.recording.args, self.entry.recording.kwargs))[0]
        self.floats: list[str] = []
        for name, x in zip(self.names, leaves, strict=True):
            if isinstance(x, Tensor):
                slot, own = next(tensors)
                if not self.takes(slot):
                    continue
                layout = made.moved[id(x)].layout
                if own:
                    layout = Layout.make(layout.shape, layout.strides)
                memory = self.memory[slot]
                if slot not in self.arrays.arrays:
                    plain = own and not layout.may_overlap_itself() and all(s >= 0 for s in layout.strides)
                    shows = layout if plain else covering([layout], memory)
                    self.parameter(slot, name, shows)
                else:
                    self.inside[name] = self.arrays.arrays[slot].name
            elif type(x) is float and self.entry.symbolic and self.takes(None):
                self.floats.append(self.arrays.name(name))
                self.parameters[self.floats[-1]] = None

    def takes(self, slot: int | None) -> bool:
        """Return whether an argument is a parameter of the function; None stands for the floats."""
        return True

    def parameter(self, slot: int, name: str, layout: Layout | None) -> Array:
        """Add an array to the parameters of `run`."""
        array = self.arrays.add(slot, name, layout, self.memory[slot])
        self.parameters[array.name] = slot
        return array

    def name_outside(self) -> None:
        """Name the memory of the outside tensors, each after the shortest path to it."""
        made = self.recording
        ways = sorted(made.outside.tensors, key=lambda way: (way.count("["), len(way), way))
        for slot, (holder, part) in made.holders.items():
            if slot not in self.used or slot in self.arrays.arrays:
                continue
            storage = holder._grad.storage if part else holder.storage
            same = [way for way in ways if part and made.outside.tensors[way] is holder
                    or not part and made.outside.tensors[way].storage is storage]  # fmt: skip
            wish = identifier(same[0]) if same else "outside"
            layouts = [holder._grad.layout] if part else [made.outside.tensors[way].layout for way in same]
            array = self.parameter(slot, f"{wish}_grad" if part else wish, covering(layouts, self.memory[slot]))
            self.outside[array.name] = array

    def name_results(self) -> None:
        """Name the memory that the caller keeps: results and gradients."""
        made, slots = self.recording, set(self.entry.fresh)
        wishes: list[tuple[str, Any]] = []
        leaves = [leaf for leaf in made.results if isinstance(leaf, Made)]
        wishes += [("result" if len(leaves) == 1 else f"result_{k}", leaf) for k, leaf in enumerate(leaves)]
        calls = [item for item in self.tape.items if isinstance(item, HostCall)]
        for x, g in [*made.final, *[pair for call in calls for pair in call.gradients]]:
            owner = next((a.name for s, a in self.arrays.arrays.items() if self.real(s) is x.storage), "variable")
            wishes += [(f"{owner}_grad", g)] if g is not None else []
        for wish, leaf in wishes:
            if leaf.slot in slots and leaf.slot not in self.arrays.arrays:
                array = self.parameter(leaf.slot, wish, covering([leaf.layout], self.memory[leaf.slot]))
                self.results[array.name] = array
        for slot in getattr(self.entry, "kept_slots", ()):
            if slot not in self.arrays.arrays:
                array = self.parameter(slot, "kept", covering(self.used.get(slot, []), self.memory[slot]))
                self.kept[array.name] = array

    def real(self, slot: int) -> Any:
        """Return the outside storage that a slot represents."""
        return next((real for real, twin in self.recording.storages.items() if twin.buffer.number == slot), None)

    def name_constants(self) -> None:
        """Write small constants into the text, and make larger constants parameters."""
        for slot, layouts in self.used.items():
            memory = self.memory[slot]
            if memory.kind != "constant" or memory.numel == 1 and memory.dtype.storage == memory.dtype.numpy:
                continue
            if memory.numel > SHOWN or memory.dtype.storage != memory.dtype.numpy:
                array = self.parameter(slot, "constant", covering(layouts, memory))
                self.constants[array.name] = array
                continue
            array = self.arrays.add(slot, "c", covering(layouts, memory), memory)
            values = memory.value.reshape(-1).tolist()
            text = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(values))
            shape = "" if len(array.shape) == 1 else f".reshape({array.shape})"
            self.top.append(f"{array.name} = np.array({text}, {type_of(memory.dtype.storage)}){shape}")

    def name_families(self) -> None:
        """Name the lists of the arrays that the rounds of a repeat use, and allocate their temporaries."""
        for family in self.families:
            slots = family.all()
            if all(self.memory[slot].kind == "constant" and self.memory[slot].numel == 1 for slot in slots):
                self.name_numbers(family, slots)
                continue
            family.name = self.arrays.name(f"s{len([x for x in self.families if x.name])}")
            parts, uses, shape = list[str](), Counter(slots), self.shape_of(slots)
            for k, slot in enumerate(slots):
                name, dtype = f"{family.name}[{k}]", type_of(self.memory[slot].dtype.storage)
                array = self.arrays.arrays.get(slot)
                if array is not None:
                    parts.append(self.shown_in(array, shape))
                    continue
                text = f"np.empty({shape}, {dtype})"
                if not self.is_temporary(slot):  # a number in which the list begins
                    value = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(self.memory[slot].value.reshape(-1)[0].item()))
                    text = f"np.full({shape}, {value}, {dtype})"
                elif uses[slot] > 1:  # the list refers to this array again
                    name = self.arrays.name(f"{family.name}_{k}")
                    self.top.append(f"{name} = {text}")
                    text = name
                parts.append(text)
                self.arrays.arrays[slot] = Array(name, shape, Layout.contiguous(shape).strides)
            self.top.append(f"{family.name} = {list_of(parts)}")

    def shown_in(self, array: Array, shape: tuple[int, ...]) -> str:
        """Return an array in the shape of the others of its list: for the first `x[0]`, the beginning of `x`."""
        if prod(array.shape) == prod(shape):
            return array.name if array.shape == shape else f"{array.name}.reshape({shape})"
        self.has_views = True
        return f"view({array.name}, {shape}, {Layout.contiguous(shape).strides})"

    def shape_of(self, slots: list[int]) -> tuple[int, ...]:
        """Return the shape of the arrays of a family."""
        layouts = [covering(self.used[slot], self.memory[slot]) for slot in slots]
        layout = layouts[len(slots) // 2]
        return without_ones(layout.shape if layout is not None else (self.memory[slots[0]].numel,))

    def name_numbers(self, family: Family, slots: list[int]) -> None:
        """Write a list of numbers that differ between the rounds."""
        family.name, family.is_numbers = self.arrays.name("numbers"), True
        values = [self.memory[slot].value.reshape(-1)[0].item() for slot in slots]
        text = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(values))
        self.top.append(f"{family.name} = np.array({text}, {type_of(self.memory[slots[0]].dtype.storage)})")

    def is_temporary(self, slot: int) -> bool:
        """Return whether a slot is memory that the text allocates."""
        return slot in self.used and self.memory[slot].kind not in ("symbol", "drawn", "constant")

    def name_temporaries(self) -> None:
        """Name the memory that lives as long as a call, and allocate it in the text."""
        count, alike = 0, dict[str, list[str]]()
        for slot, layouts in self.used.items():
            memory = self.memory[slot]
            if slot in self.arrays.arrays or not self.is_temporary(slot):
                if slot not in self.arrays.arrays and memory.kind == "constant":
                    self.arrays.arrays[slot] = Array("number", (), ())
                continue
            layout = covering(layouts, memory)
            shape = without_ones(layout.shape if layout is not None else (memory.numel,))
            array = self.arrays.add(slot, f"t{count}", Layout.contiguous(shape), memory)
            alike.setdefault(f"np.empty({array.shape}, {type_of(memory.dtype.storage)})", []).append(array.name)
            count += 1
        for made, names in alike.items():
            for k in range(0, len(names), TOGETHER):
                some = names[k : k + TOGETHER]
                right = made if len(some) == 1 else f"[{made} for _ in range({len(some)})]"
                self.top.append(f"{', '.join(some)} = {right}")

    def name_symbols(self) -> dict[int, str]:
        """Write the lines that compute the numbers that each call reads; return their names in the text.

        Each name is computed once per dtype.
        """
        names: dict[tuple[str, Any], str] = {}
        result = {}
        used = [(text, slot) for text, slot in self.entry.program.symbols if slot in self.used]
        lines = self.arithmetic({text for text, _ in used})
        pairs = {(text, self.memory[slot].dtype.storage) for text, slot in used}
        for text, slot in used:
            dtype, shown = self.memory[slot].dtype.storage, self.terms[text]
            if (text, dtype) not in names:
                again = any(re.search(rf"\b{text}\b", line) for line in lines) or sum(text == t for t, _ in pairs) > 1
                names[text, dtype] = self.arrays.name(f"{shown}_{dtype.itemsize * 8}") if again else shown
                self.top.append(f"{names[text, dtype]} = {type_of(dtype)}({shown})")
            result[slot] = names[text, dtype]
        return result

    def arithmetic(self, used: set[str]) -> list[str]:
        """Write the lines of Python arithmetic on floats that lead to some numbers, and return them as recorded."""
        needed, lines = set(used), list[str]()
        for line in reversed(self.entry.program.arithmetic):
            left, _, right = line.partition(" = ")
            if left in needed:
                needed.update(re.findall(r"\b[nm]\d+\b", right))
                lines.insert(0, line)
        self.terms = {f"n{k}": name for k, name in enumerate(self.floats)}
        for line in lines:
            left, _, right = line.partition(" = ")
            self.terms[left] = self.arrays.name("number")
            shown = re.sub(r"\b[nm]\d+\b", lambda match: self.terms[match[0]], right)
            self.top.append(f"{self.terms[left]} = {shown}")
        return [line.partition(" = ")[2] for line in lines]

"""The text of a module in PyTorch's layout: its arguments, then its children, which are indented."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from minigrad.nn.modules.members import CHILDREN, Members


class Shown(Members):
    """The text of a module; this is a base class of `Module`."""

    def parameters(self, recurse: bool = True) -> Any:
        """Yield all parameters; `Module` implements this method."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Return the arguments that `repr` shows; a subclass may override this method."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        count = sum(p.numel() for p in self.parameters())
        text = shown(self)
        return f"{text}  # {count:,} parameters" if "\n" in text else text


def shown(module: Any) -> str:
    """Return the text of a module without the number of its parameters."""
    text = module.extra_repr()
    extra = text.split("\n") if text else []
    children = [f"({name}): {indented(child)}" for name, child in children_of(module)]
    if len(extra) == 1 and not children:
        return f"{module._get_name()}({extra[0]})"
    lines = extra + children
    return f"{module._get_name()}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


def children_of(module: Any) -> list[tuple[str, str]]:
    """Return names and texts of the children; equal neighbors in a list form one line, `(0-5): 6 x Linear(...)`."""
    d = module.__dict__
    pairs = [(name, own_text(d[name])) for name in d[CHILDREN]]
    if not getattr(module, "_collapses", False):
        return pairs
    lines = []
    for text, run in groupby(pairs, key=lambda pair: pair[1]):
        names = [name for name, _ in run]
        name = names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"
        lines.append((name, text if len(names) == 1 else f"{len(names)} x {text}"))
    return lines


def own_text(child: Any) -> str:
    """Return the text of a child, which its class may define in `__repr__`."""
    kind: Any = type(child)
    return shown(child) if kind.__repr__ is Shown.__repr__ else repr(child)


def indented(text: str) -> str:
    """Return a text in which all lines after the first are indented by two spaces."""
    return text.replace("\n", "\n  ")

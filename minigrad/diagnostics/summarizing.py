"""A table of a model: output, parameters, multiply-adds, bytes and time of each layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from math import prod
from typing import Any

from minigrad.api.page import Page, styled
from minigrad.diagnostics.shown import aligned
from minigrad.diagnostics.tape import in_time, in_units
from minigrad.errors import DeclarationError
from minigrad.kernels.store import running_time
from minigrad.nn.modules.module import Module
from minigrad.runtime.iterables import tensors_in
from minigrad.runtime.observers import Observer, attach, detach
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe

__all__ = ["Summary", "summary"]

HEAD = ("layer", "output", "parameters", "multiply-adds", "bytes", "time")


@dataclass
class Row:
    """One call of one module; parameters, products, size and seconds exclude its children."""

    name: str
    kind: str
    depth: int
    shape: Any = None
    parameters: int = 0
    products: int = 0
    size: int = 0
    seconds: float = 0.0

    def cells(self) -> tuple[str, ...]:
        """Return the text of each cell of the row."""
        label = f"{'  ' * self.depth}{self.name}: {self.kind}" if self.name else self.kind
        counts = [f"{n:,}" if n else "-" for n in (self.parameters, self.products)]
        return label, shown(self.shape), *counts, in_units(self.size) if self.size else "-", in_time(self.seconds)


class Summary(Page, Sequence[Row]):
    """Store the table of a model; `summary` returns it.

    Parameters
    ----------
    rows : Sequence[Row]
        The calls of the modules, in order.
    parameters : int
        Number of elements of all parameters.
    trainable : int
        Number of these elements that require a gradient.

    Attributes
    ----------
    products : int
        Sum of the multiply-adds of all rows.
    size : int
        Sum of the bytes of all rows.
    seconds : float
        Sum of the times of all rows, in seconds.
    """

    def __init__(self, rows: Sequence[Row], parameters: int, trainable: int) -> None:
        self.rows, self.parameters, self.trainable = tuple(rows), parameters, trainable
        self.products, self.size = sum(row.products for row in rows), sum(row.size for row in rows)
        self.seconds = sum(row.seconds for row in rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def _lines(self) -> list[tuple[str, ...]]:
        total = ("total", "", f"{self.parameters:,}", f"{self.products:,}", in_units(self.size), in_time(self.seconds))
        return [*[row.cells() for row in self.rows], total]

    def _note(self) -> str:
        return f"{self.trainable:,} of {self.parameters:,} parameters are trained"

    def __str__(self) -> str:
        texts = aligned([HEAD, *self._lines()], 2)
        rule = "-" * len(texts[0])
        return "\n".join([texts[0], rule, *texts[1:-1], rule, texts[-1], self._note()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def cells(row: tuple[str, ...], tag: str) -> str:
            sides = ["", "", *[' class="mg-right"'] * (len(HEAD) - 2)]
            return "".join(f"<{tag}{side}>{escape(cell)}</{tag}>" for cell, side in zip(row, sides, strict=True))

        *rows, total = self._lines()
        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
        foot = f"<tr>{cells(total, 'th')}</tr>"
        table = f'<div class="mg-wide"><table><tr>{cells(HEAD, "th")}</tr>{body}{foot}</table></div>'
        return styled(f"{table}<p>{escape(self._note())}</p>")


def summary(model: Module, *args: Any, **kwargs: Any) -> Summary:
    """Run a model once and tabulate its layers.

    model: The model. It runs in evaluation mode without recording, so running statistics do not change.
    args and kwargs: The inputs of the model.

    Returns: A table with one row per call of a module, and one row per module with parameters that is not called: name,
    class, shape of the output, parameters, multiply-adds of products and convolutions, bytes of the output, and time.
    Each number excludes the children of a module, so each column adds up to its total. The table prints as text, and as
    an HTML table in a notebook.

    The model runs twice: the first run counts and compiles, and the second run is timed. If several modules share a
    parameter, only the row of the first of these modules counts it.

    >>> table = mg.nn.summary(mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.ReLU()), mg.zeros(2, 4))
    >>> table.parameters, table.products, [row.shape for row in table]
    (40, 64, [(2, 8), (2, 8), (2, 8)])
    """
    if not isinstance(model, Module):
        raise DeclarationError(
            f"summary: model must be a mg.nn.Module, got {describe(model)}; pass the model as the first argument"
        )
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with no_grad():
            counts, times = Run(model), Run(model)
            attach(counts)
            try:
                counts(args, kwargs)
            finally:
                detach(counts)
            times(args, kwargs)
    finally:
        for module, mode in modes:
            module.training = mode
    for row, timed in zip(counts.rows, times.rows, strict=True):
        row.seconds = timed.seconds
    counts.rows += counts.left_out()
    own = list(model.parameters())
    return Summary(counts.rows, sum(p.numel() for p in own), sum(p.numel() for p in own if p.requires_grad))


class Run(Observer):
    """One run of a model in which every call of a module is recorded."""

    def __init__(self, model: Module) -> None:
        self.model, self.rows, self.open = model, list[Row](), list[Row]()
        self.counted: set[int] = set()
        self.clock = 0.0

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        with self.watched():
            self.clock = running_time()
            self.model(*args, **kwargs)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Open a block in which calls of the modules go through `Watch`, which also runs their hooks."""
        before: list[Any] = [(name, m.__dict__, m.__dict__.get("_hooks")) for name, m in self.model.named_modules()]
        try:
            for name, d, hooks in before:
                d["_hooks"] = Watch(self, name, hooks)
            yield
        finally:
            for _, d, hooks in before:
                d["_hooks"] = hooks

    def left_out(self) -> list[Row]:
        """Return a row for each module with parameters that the model did not call."""
        rows = []
        for name, module in self.model.named_modules():
            count = sum(p.numel() for p in module.parameters(recurse=False) if id(p) not in self.counted)
            if count:
                rows.append(Row(name, type(module).__name__, 1, shape=None, parameters=count))
        return rows

    def elapsed(self) -> None:
        """Add the time since the last event to the innermost module."""
        now = running_time()
        if self.open:
            self.open[-1].seconds += now - self.clock
        self.clock = now

    def enter(self, name: str, module: Any) -> None:
        """Record the beginning of a call."""
        self.elapsed()
        parameters = [p for p in module.parameters(recurse=False) if id(p) not in self.counted]
        self.counted |= {id(p) for p in parameters}
        row = Row(name.rpartition(".")[2], type(module).__name__, len(self.open))
        row.parameters = sum(p.numel() for p in parameters)
        self.rows.append(row)
        self.open.append(row)

    def leave(self, module: Any, result: Any) -> None:
        """Record the end of a call."""
        self.elapsed()
        row = self.open.pop()
        shapes = [x.shape for x in tensors_in(result)]
        row.shape = shapes[0] if len(shapes) == 1 else shapes
        if not module._modules:
            row.size = sum(x.numel() * x.dtype.itemsize for x in tensors_in(result))

    def called(self, op: Any, operands: tuple[Tensor, ...], result: Any, seconds: float) -> None:
        """Count the multiply-adds of an op."""
        if self.open:
            self.open[-1].products += multiply_adds(op.name, operands, result)


class Watch:
    """An object that replaces the hooks of a module during a run."""

    def __init__(self, run: Run, name: str, hooks: Any) -> None:
        self.run, self.name, self.hooks = run, name, hooks

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a module, record the call, and return the result."""
        self.run.enter(self.name, module)
        forward = module.forward if self.hooks is None else None
        result = forward(*args, **kwargs) if forward else self.hooks.call(module, args, kwargs)
        self.run.leave(module, result)
        return result


def multiply_adds(name: str, operands: Sequence[Any], result: Any) -> int:
    """Return the multiply-adds of one call of an op; 0 if it is not a product."""
    match name:
        case "matmul" | "linear":
            return int(result.numel() * operands[0].shape[-1])
        case "addmm" | "addmv" | "baddbmm" | "addbmm":
            return int(result.numel() * operands[1].shape[-1])
        case "conv":
            return int(result.numel() * prod(operands[1].shape[1:]))
        case "conv_input":  # a transposed convolution calls this op
            return int(operands[0].numel() * prod(operands[1].shape[1:]))
        case "attention" | "attention_kept":
            query, key, value = operands[:3]
            return int(query.numel() // query.shape[-1] * key.shape[-2] * (query.shape[-1] + value.shape[-1]))
    return 0


def shown(shapes: Any) -> str:
    """Return the text of a shape or of several shapes; None stands for a module that was not called."""
    if shapes is None:
        return "not called"
    return " ".join(map(str, shapes)) if isinstance(shapes, list) else str(shapes)

"""The log of a training run: a file of values by step, and curves of them that are drawn during the run.

In a notebook, each picture replaces the previous one; in a terminal, each chart is drawn over the previous one.  In a
file or a pipe, some lines report the progress, and the chart is written at the end.
"""

from __future__ import annotations

import csv
import json
import math
import sys
import time
from html import escape
from pathlib import Path
from typing import Any, Self, TextIO

from minigrad.api.page import styled
from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor, describe
from minigrad.viz.curves import Curves, curves

SECONDS = 0.5  # minimum time in seconds between two pictures
REPORTS = 10  # number of lines of progress in a file or a pipe


class Log:
    """Record values of a training run at each step, write them to a file, and draw them during the run.

    path: File that ends in `.jsonl`, with one JSON object per row, or in `.csv`, with the columns of the first row. An
    existing file is replaced, and each row is written immediately.
    total: Total number of steps, from which the remaining time is estimated.
    show: Whether to draw curves.
    log: Whether the curves are on a logarithmic scale.
    out: Stream to which charts in a terminal and lines of progress are written; stderr if None.

    Raises ArgumentError if the file has another ending, or a row has other columns than the first one.

    >>> with mg.viz.Log(show=False) as log:
    ...     for step in range(3):
    ...         log(loss=1 / (step + 1))
    >>> log.values["loss"]
    ([1, 2, 3], [1.0, 0.5, 0.3333333333333333])

    Attributes:
        values (dict of str to (list of int, list of float)): Steps and values of each name.
    """

    def __init__(
        self, path: str | Path | None = None, total: int | None = None, *, show: bool = True, log: bool = False,
        out: TextIO | None = None,
    ) -> None:  # fmt: skip
        if path is not None and not isinstance(path, (str, Path)):
            raise ArgumentError(f"viz.Log: path must be a str or a Path, got {describe(path)}; pass 'log.jsonl'")
        self.path = None if path is None else Path(path)
        if self.path is not None and self.path.suffix not in (".jsonl", ".csv"):
            raise ArgumentError(
                f"viz.Log: path must end in .jsonl or .csv, got {self.path.name!r}; pass 'log.jsonl', for example"
            )
        self.total, self.log, self.step = total, log, 0
        self.values: dict[str, tuple[list[int], list[float]]] = {}
        self.file = None if self.path is None else self.path.open("w", encoding="utf-8", newline="")
        self.columns: list[str] = []
        self.screen = screen(out or sys.stderr, total) if show else None
        self.began = time.monotonic()

    def __call__(self, step: int | None = None, **values: Any) -> None:
        """Add a row of values, numbers or tensors of one element; the default step is the last step plus 1."""
        self.step = self.step + 1 if step is None else int(step)
        row = {name: float(x.detach().item() if isinstance(x, Tensor) else x) for name, x in values.items()}
        if self.file is not None:
            self.write(row)
        for name, value in row.items():
            steps, numbers = self.values.setdefault(name, ([], []))
            steps.append(self.step)
            numbers.append(value)
        if self.screen is not None:
            self.screen.update(self)

    def write(self, row: dict[str, float]) -> None:
        """Write a row to the file."""
        assert self.file is not None and self.path is not None
        whole = {"step": self.step, "seconds": round(time.monotonic() - self.began, 3), **row}
        if self.path.suffix == ".jsonl":
            json.dump({name: x if math.isfinite(x) else str(x) for name, x in whole.items()}, self.file)
            self.file.write("\n")
        else:
            if not self.columns:
                self.columns = list(whole)
                csv.writer(self.file, lineterminator="\n").writerow(self.columns)
            if unknown := [name for name in whole if name not in self.columns]:
                raise ArgumentError(
                    f"viz.Log: the row of step {self.step} has {', '.join(unknown)}, which are not columns of "
                    f"{self.path.name} ({', '.join(self.columns)}); pass all names in the first row, or log to a "
                    ".jsonl file"
                )
            csv.writer(self.file, lineterminator="\n").writerow([whole.get(name, "") for name in self.columns])
        self.file.flush()

    def progress(self) -> str:
        """Return the step, the last values and the estimated remaining time as text."""
        spent = time.monotonic() - self.began
        share = f"/{self.total}" if self.total else ""
        left = f", {spent * (self.total - self.step) / self.step:.0f} s left" if self.total and self.step else ""
        last = "".join(f", {name} {numbers[-1]:.4g}" for name, (_, numbers) in self.values.items())
        return f"step {self.step}{share}{last}, {spent:.0f} s{left}"

    def curves(self) -> Curves:
        """Return the picture of all values."""
        drawn: dict[str, Any] = dict(self.values)
        return curves(drawn, log=self.log)

    def close(self) -> None:
        """Close the file, and draw the last picture."""
        if self.file is not None:
            self.file.close()
            self.file = None
        if self.screen is not None:
            self.screen.end(self)
            self.screen = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def screen(out: TextIO, total: int | None) -> Notebook | Terminal | Lines:
    """Return the output for a notebook, a terminal or a file."""
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and hasattr(shell, "kernel"):
            return Notebook()
    return Terminal(out) if hasattr(out, "isatty") and out.isatty() else Lines(out, total)


class Screen:
    """Output that draws a picture if enough time has passed since the last one, and once at the end."""

    due = 0.0

    def update(self, log: Log, force: bool = False) -> None:
        """Draw a picture if it is time, or with `force`."""
        if log.values and (force or time.monotonic() >= self.due):
            self.draw(log)
            self.due = time.monotonic() + SECONDS

    def end(self, log: Log) -> None:
        """Draw the last picture."""
        self.update(log, force=True)

    def draw(self, log: Log) -> None:
        """Draw a picture."""
        raise NotImplementedError


class Notebook(Screen):
    """Output for a notebook, which replaces each picture by the next."""

    handle: Any = None

    def draw(self, log: Log) -> None:
        from IPython.display import HTML, display

        page = HTML(log.curves().html + styled(f"<pre>{escape(log.progress())}</pre>"))
        if self.handle is None:
            self.handle = display(page, display_id=True)
        else:
            self.handle.update(page)


class Terminal(Screen):
    """Output for a terminal, which draws each chart over the previous one."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.lines = out, 0

    def draw(self, log: Log) -> None:
        text = f"{log.curves().text.rstrip()}\n{log.progress()}\n"
        back = f"\x1b[{self.lines}A\x1b[J" if self.lines else ""  # up to the first line, and clear the lines below
        self.out.write(back + text)
        self.out.flush()
        self.lines = text.count("\n")


class Lines:
    """Output for a file or a pipe: some lines of progress, and the chart at the end."""

    def __init__(self, out: TextIO, total: int | None) -> None:
        self.out = out
        self.apart = max(1, total // REPORTS) if total else None
        self.wait, self.due = 10.0, time.monotonic() + 10.0

    def update(self, log: Log) -> None:
        """Write a line if enough steps or seconds have passed; without a total, lines become less frequent."""
        if self.apart is not None and log.step % self.apart:
            return
        if self.apart is None:
            if time.monotonic() < self.due:
                return
            self.wait *= 1.5
            self.due = time.monotonic() + self.wait
        self.out.write(log.progress() + "\n")
        self.out.flush()

    def end(self, log: Log) -> None:
        """Write the chart."""
        if log.values:
            self.out.write(f"{log.curves().text.rstrip()}\n{log.progress()}\n")
            self.out.flush()

"""Types of settings: their values, and how the environment variable `MINIGRAD_<NAME>` is read.

`config.py` declares each setting with one of these types.  An assignment of an invalid value, or a variable with an
invalid text, raises ArgumentError.  A variable of no setting causes a warning.  No other file of the package reads
variables for settings.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import index
from pathlib import Path
from typing import Any

from minigrad.errors import ArgumentError, warn

FLAGS = {"": False, "0": False, "false": False, "no": False, "off": False,
         "1": True, "true": True, "yes": True, "on": True}  # fmt: skip


OTHERS = ("ranks",)  # variables of processes that `python -m minigrad run` starts


def report_unknown(names: Iterable[str]) -> None:
    """Warn about variables `MINIGRAD_<NAME>` that have no effect, because no setting has this name."""
    known = [f"MINIGRAD_{name.upper()}" for name in (*names, *OTHERS)]
    for variable in os.environ:
        if variable.startswith("MINIGRAD_") and variable not in known:
            from difflib import get_close_matches  # imported here, because few starts need it

            near = get_close_matches(variable, known, n=1, cutoff=0.8)
            warn(
                f"minigrad: expected the environment variables MINIGRAD_<NAME> of settings, got {variable}, which has "
                f"no effect; {f'did you mean {near[0]}? ' if near else ''}print(mg.settings) lists the names"
            )


class Setting(ABC):
    """One setting; `default` is the text of the variable if it is not set, and `meaning` is a description."""

    def __init__(self, default: str, meaning: str) -> None:
        self.default, self.meaning = default, meaning

    @property
    @abstractmethod
    def expected(self) -> str:
        """Return a description of the possible values."""

    @property
    def texts(self) -> str:
        """Return a description of the possible texts of the variable."""
        return self.expected

    @abstractmethod
    def read(self, text: str) -> Any:
        """Return the value for a text; raise ValueError or KeyError for an invalid text."""

    @abstractmethod
    def convert(self, value: Any) -> Any:
        """Return an assigned value in the setting's type; raise TypeError, ValueError or KeyError for another value."""

    def shown(self, value: Any) -> str:
        """Return a value as a Python expression."""
        return repr(value)

    def from_environment(self, name: str) -> Any:
        """Return the initial value; raise ArgumentError, with the name, if the variable has an invalid text."""
        variable = f"MINIGRAD_{name.upper()}"
        text = os.environ.get(variable, self.default)
        try:
            return self.read(text)
        except (ValueError, KeyError):
            advice = f"set it, or unset it for {self.default!r}"
            raise ArgumentError(f"{variable}: expected {self.texts}, got {text!r}; {advice}") from None

    def accept(self, name: str, value: Any) -> Any:
        """Return an assigned value in the setting's type; raise ArgumentError for an invalid value."""
        try:
            return self.convert(value)
        except (TypeError, ValueError, KeyError):
            raise ArgumentError(
                f"settings.{name}: expected {self.expected}, got {value!r}; the default is "
                f"mg.settings.{name} = {self.shown(self.read(self.default))}"
            ) from None


class Switch(Setting):
    """A setting that is True or False."""

    expected, texts = "True or False", "0 or 1"

    def read(self, text: str) -> bool:
        return FLAGS[text.strip().lower()]

    def convert(self, value: Any) -> bool:
        return {0: False, 1: True}[value]  # bools of Python and of NumPy are equal to these keys; strings are not


class Count(Setting):
    """A setting that is an int of at least `least`."""

    def __init__(self, default: str, meaning: str, least: int = 0) -> None:
        super().__init__(default, meaning)
        self.least = least

    @property
    def expected(self) -> str:
        return f"an int of at least {self.least}"

    def read(self, text: str) -> int:
        return self.convert(int(text))

    def convert(self, value: Any) -> int:
        if isinstance(value, bool) or index(value) < self.least:
            raise ValueError(value)
        return index(value)


class Choice(Setting):
    """A setting that is one of several words; an empty variable means the default."""

    def __init__(self, default: str, meaning: str, choices: tuple[str, ...]) -> None:
        super().__init__(default, meaning)
        self.choices = choices

    @property
    def expected(self) -> str:
        return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"

    def read(self, text: str) -> str:
        return self.convert(text or self.default)

    def convert(self, value: Any) -> str:
        return {word: word for word in self.choices}[value]


class Folder(Setting):
    """A setting that is a path; an empty variable means that there is no folder."""

    expected = "a path"

    def read(self, text: str) -> Path | None:
        return Path(text) if text else None

    def convert(self, value: Any) -> Path | None:
        return None if value is None else Path(value)

    def shown(self, value: Any) -> str:
        return "None" if value is None else repr(str(value))


class CacheFolder(Folder):
    """The user's cache folder, for which an empty variable means the usual place."""

    def read(self, text: str) -> Path:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        return Path(text or os.path.join(base, "minigrad"))

    def convert(self, value: Any) -> Path:
        return Path(value)

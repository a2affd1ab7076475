"""Texts from files, from Python's own documentation and from Unicode character names; and windows of texts."""

from __future__ import annotations

import os
import sys
import unicodedata
from typing import Any

import numpy as np

from minigrad.data.datasets import Dataset, Indices
from minigrad.data.files import content
from minigrad.data.samplers import COUNT
from minigrad.errors import ArgumentError, FileError, IndexOutOfRange
from minigrad.ops.creation import from_numpy
from minigrad.runtime.tensor import Tensor


def read_text(path: Any) -> str:
    """Read a UTF-8 text file; a file whose name ends in .gz is decompressed.

    Raises FileError if the file is missing, or is not UTF-8.
    """
    try:
        return content(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            f"read_text: {os.fspath(path)} must be encoded in UTF-8, got other bytes at offset {error.start}; convert "
            "the file to UTF-8"
        ) from None


def topics() -> str:
    """Return Python's language reference, which Python contains, as one text of half a million characters.

    >>> "generator" in mg.data.topics()
    True
    """
    from pydoc_data.topics import topics as texts

    return "\n".join(texts[name] for name in sorted(texts))


def character_names() -> list[str]:
    """Return the names of all Unicode characters, such as "GREEK SMALL LETTER ALPHA", sorted by code point.

    Names that are derived from the code point, such as those of Chinese characters and Korean syllables, are left out.

    >>> mg.data.character_names()[33]
    'LATIN CAPITAL LETTER A'
    """
    names = (unicodedata.name(chr(k), "") for k in range(sys.maxunicode + 1))
    made = ("CJK ", "HANGUL SYLLABLE", "TANGUT ", "NUSHU ", "KHITAN ", "VARIATION SELECTOR", "EGYPTIAN HIEROGLYPH-")
    return [name for name in names if name and not name.startswith(made)]


class Characters(Dataset[tuple[Tensor, Tensor]]):
    """Define a dataset of the windows of a text, for a model that predicts the next character.

    text: Text of at least length + 1 characters.
    length: Number of characters of a window.
    vocabulary: All characters in the order of their ids; by default the sorted characters of the text.  For a
    validation text, pass the vocabulary of the training text.

    Raises ArgumentError if the text is too short, or contains a character that is not in the vocabulary.

    Sample i is a pair of int64 tensors (length,): the ids of the characters i to i + length - 1, and the ids of the
    characters i + 1 to i + length.

    >>> ds = mg.data.Characters("abcab", 3)
    >>> ds[1], ds.decode(ds[1][0])
    ((tensor([1, 2, 0]), tensor([2, 0, 1])), 'bca')
    """

    draws = False

    def __init__(self, text: str, length: int, vocabulary: str | None = None) -> None:
        COUNT.expect("Characters", length=length)
        if len(text) <= length:
            raise ArgumentError(
                f"Characters: text must have more than length={length} characters, got {len(text)}; pass a longer text "
                "or a smaller length"
            )
        self.length = length
        self.vocabulary = "".join(sorted(set(text))) if vocabulary is None else vocabulary
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        known = np.frombuffer(self.vocabulary.encode("utf-32-le", "surrogatepass"), np.uint32)
        order = np.argsort(known, kind="stable")
        ids = order[np.minimum(np.searchsorted(known, points, sorter=order), len(known) - 1)] if len(known) else points
        wrong = np.flatnonzero(known[ids] != points) if len(known) else np.arange(1)
        if len(wrong):
            raise ArgumentError(
                f"Characters: vocabulary must contain all characters of the text, but {text[wrong[0]]!r} is missing; "
                "omit vocabulary"
            )
        self.ids = ids.astype(np.int64)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if not -len(self) <= index < len(self):
            raise IndexOutOfRange(
                f"Characters: index must be from {-len(self)} to {len(self) - 1}, got {index}; check len() first"
            )
        start = index % len(self)
        return from_numpy(self.ids[start : start + self.length]), from_numpy(
            self.ids[start + 1 : start + 1 + self.length]
        )

    def __getbatch__(self, indices: Indices) -> list[Tensor]:
        """Return the windows with the given indices."""
        both = self.ids[indices[:, None] + np.arange(self.length + 1)]
        return [from_numpy(np.ascontiguousarray(part)) for part in (both[:, :-1], both[:, 1:])]

    def __len__(self) -> int:
        return len(self.ids) - self.length

    def decode(self, ids: Any) -> str:
        """Return the text that belongs to ids, which are a tensor or a list."""
        return "".join(self.vocabulary[k] for k in (ids.tolist() if isinstance(ids, Tensor) else ids))

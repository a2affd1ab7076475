"""Random numbers of a loader: keys that a generator draws, and permutations and seeds that depend only on keys.

A sampler draws one key per epoch, which advances the generator by one.  All random numbers of the epoch are a function
of its key, so they do not depend on the number of workers or on other random numbers of the program.  They come from
NumPy's Philox, whose stream is stable across versions, and do not require compiled kernels.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import memmove, string_at
from hashlib import blake2b
from struct import pack
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from minigrad.ops.generators import Generator, default_generator

Key = tuple[int, int]
ORDER: Final = 0
BATCH: Final = 1
WORKER: Final = 2
WORD: Final = 64  # number of bits of one random word
MANTISSA: Final = 53  # number of significant bits of a float64


def source(generator: Generator | None) -> Generator:
    """Return the generator to draw from, which is the default generator for None."""
    return (default_generator if generator is None else generator).in_use()


def drawn_key(generator: Generator | None) -> Key:
    """Draw a key, which advances the generator by one."""
    stream = source(generator)
    return stream.seed, stream.take(1) % 2**WORD


def philox(key: Key, purpose: int, number: int = 0) -> Any:
    """Return the random stream of a key for a purpose and an index of a batch."""
    return np.random.Philox(key=np.array(key, np.uint64), counter=np.array([0, 0, number, purpose], np.uint64))


def permutation(key: Key, n: int, part: int = 0) -> NDArray[np.int64]:
    """Return a random permutation of 0 .. n-1: sort random bits whose low bits are the index, so there are no ties."""
    bits = np.uint64(max(n - 1, 0).bit_length())
    keys = philox(key, ORDER, part).random_raw(n)
    keys = (keys >> bits << bits) | np.arange(n, dtype=np.uint64)
    keys.sort()
    return (keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)


def uniforms(key: Key, n: int, part: int = 0) -> NDArray[np.float64]:
    """Return n float64 samples of the uniform distribution over [0, 1), for one part of an epoch."""
    raw = philox(key, ORDER, part).random_raw(n) >> np.uint64(WORD - MANTISSA)
    return raw * 2.0**-MANTISSA


def seed_of(key: Key, number: int, purpose: int = BATCH) -> int:
    """Return the seed of a batch or of a worker, which fits int64: a hash is faster than creating a random stream."""
    return int.from_bytes(blake2b(pack("<4Q", *key, number, purpose), digest_size=8).digest(), "little") >> 1


def plant(seed: int) -> None:
    """Seed the generators that code of a dataset uses: the default generators of Python, NumPy and minigrad."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the global generator is the one that datasets use
    default_generator.seed, default_generator.offset = seed, 0


@contextmanager
def planted(seed: int) -> Iterator[None]:
    """Open a block with seeded generators, and restore their states after it."""
    ours = default_generator.seed, default_generator.offset
    python = random.getstate()
    _legacy.save()
    plant(seed)
    try:
        yield
    finally:
        default_generator.seed, default_generator.offset = ours
        random.setstate(python)
        _legacy.restore()


_numpy: Any = np.random  # typed as Any because NumPy's stubs lack some names


class Legacy:
    """Save and restore the state of NumPy's global generator faster than NumPy: usually in 1 us instead of 50 us.

    NumPy reports the memory address of the words of the state.  The words do not contain one part of the state: NumPy
    draws normal samples in pairs and stores the second sample for the next call.  Storing a sample changes the words.
    If the previous `save` found no stored sample, and the words have not changed since then, there is still no stored
    sample.  So this class lets NumPy copy the state only if the program has drawn since the previous `save`.  (If a
    program itself sets a state with equal words and a stored sample, this class does not detect the sample.)
    """

    WORDS: Final = 624 * 4 + 4  # bytes of a Mersenne Twister: its words and its position
    whole: Any = None  # the state that NumPy copied
    words = b""  # the words of a state that stores no second normal number
    owner: Any = None  # the bit generator to which the words belong

    def save(self) -> None:
        """Save the state."""
        bits = _numpy.get_bit_generator()
        if bits is self.owner and string_at(bits.ctypes.state_address, self.WORDS) == self.words:
            return
        self.whole = np.random.get_state(legacy=False)  # noqa: NPY002
        self.owner = bits if type(bits) is np.random.MT19937 and not self.whole["has_gauss"] else None
        if self.owner is not None:
            self.words = string_at(bits.ctypes.state_address, self.WORDS)
            state = self.whole["state"]  # without the expected memory layout, NumPy copies the state each time
            if self.words != state["key"].tobytes() + pack("=i", state["pos"]):
                self.owner = None

    def restore(self) -> None:
        """Restore the saved state."""
        if self.owner is None or _numpy.get_bit_generator() is not self.owner:
            np.random.set_state(self.whole)  # noqa: NPY002
            return
        np.random.seed(0)  # noqa: NPY002 - removes a second normal sample that the dataset has left
        memmove(self.owner.ctypes.state_address, self.words, self.WORDS)


_legacy = Legacy()

"""CIFAR-10 and CIFAR-100, of the binary files or of the Python ones, whose pickles are read without executing them."""

from __future__ import annotations

import io
import math
import os
import pickle
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from minigrad.data.images import Images
from minigrad.data.paths import content, located
from minigrad.errors import FileError, reading

PIXELS: Final = 3 * 32 * 32


class Array:
    """Stand in for an array of a pickle: its state is checked, and nothing of NumPy is called."""

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, data = state
        if isinstance(data, str):
            data = data.encode("latin1")
        if dtype.name != "u1" or fortran or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError("an array is not of uint8 in rows")
        if len(data) != math.prod(shape):
            raise ValueError("an array has another size than its shape")
        self.values = np.frombuffer(data, np.uint8).reshape(shape)


class Kind:
    """Stand in for a dtype of a pickle: it has a name."""

    def __init__(self, name: Any, *rest: Any) -> None:
        self.name = name.decode() if isinstance(name, bytes) else name

    def __setstate__(self, state: Any) -> None:
        """Return nothing: a dtype of one byte has no state that counts."""


def reconstruct(*arguments: Any) -> Array:
    """Stand in for NumPy's function of this name."""
    return Array()


STANDINS: Final = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): reconstruct for core in ("core", "_core")},
    ("numpy", "ndarray"): Array,
    ("numpy", "dtype"): Kind,
}


class Unpickler(pickle.Unpickler):
    """An unpickler of dicts, lists, texts, numbers and arrays of uint8: there is nothing else that it can call."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function that replaces a name.  Raises FileError for all others."""
        if (module, name) == ("_codecs", "encode"):
            return encoded
        if (module, name) not in STANDINS:
            raise FileError(f"it calls {module}.{name}, which a data set of images does not need; it is not executed")
        return STANDINS[module, name]


def encoded(text: Any, encoding: Any = "latin1") -> bytes:
    """Return the bytes that protocol 2 writes as a text."""
    result: bytes = text.encode("latin1")
    return result


def read_pickle(path: str) -> dict[str, Any]:
    """Return the dict of a pickle of CIFAR, without executing it.  Raises FileError."""
    with reading(path):
        values = Unpickler(io.BytesIO(content(path)), encoding="latin1").load()
        return {name: each.values if isinstance(each, Array) else each for name, each in values.items()}


class CIFAR10(Images):
    """60,000 colour images of 32x32 pixels in ten classes, of which 10,000 are to test.

    Parameters
    ----------
    root : str or path
        Folder that has `cifar-10-batches-bin` or `cifar-10-batches-py`, or the files of one of these.
    train : bool, default True
        Which of the parts.
    transform, target_transform : callable, optional
        Applied to each image or label; without them batches are gathered as a whole.
    download : bool, default False
        Accepted for torchvision's sake; nothing is downloaded.

    Raises
    ------
    FileError
        If a file is missing, with the path to put it at, or damaged.

    Notes
    -----
    `images` is float32 (n, 3, 32, 32) in [0, 1], `targets` int64 (n,).
    """

    # The last folder is the one that the error message names.
    folders = ("cifar-10-batches-bin", "", "cifar-10-batches-py")
    archive = "cifar-10-python.tar.gz"
    parts = {True: tuple(f"data_batch_{k}" for k in range(1, 6)), False: ("test_batch",)}
    key, skipped = "labels", 0
    classes: Any = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

    def __init__(
        self, root: Any, train: bool = True, transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None, download: bool = False,
    ) -> None:  # fmt: skip
        self.root, self.train = root, train
        read = [self.part(file) for file in self.parts[bool(train)]]
        images, labels = (np.concatenate(each) for each in zip(*read))
        super().__init__(type(self).__name__, images.reshape(-1, 3, 32, 32), labels, transform, target_transform)
        if not len(self.classes) > int(labels.max(initial=0)):
            raise FileError(f"{type(self).__name__}: expected labels below {len(self.classes)}, got {labels.max()}")

    def part(self, file: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Return the images and labels of a file, of the binary version if that is there."""
        name = type(self).__name__
        files = f"{file}.bin", file
        path = located(name, self.root, self.folders, files, f"unpack {self.archive} in {os.fspath(self.root)}")
        return self.binary(path) if path.endswith(".bin") else self.pickled(path)

    def binary(self, path: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Read records of labels, one byte each, and pixels."""
        data = np.frombuffer(content(path), np.uint8)
        record = 1 + self.skipped + PIXELS
        if not data.size or data.size % record:
            raise FileError(f"{type(self).__name__}: {path}: expected records of {record} bytes, got {data.size} bytes")
        records = data.reshape(-1, record)
        return records[:, 1 + self.skipped :], records[:, self.skipped]

    def pickled(self, path: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Read the arrays of a pickle."""
        arrays = read_pickle(path)
        images, labels = arrays.get("data"), arrays.get(self.key)
        fits: bool = isinstance(images, np.ndarray) and images.ndim == 2 and images.shape[1] == PIXELS
        if not fits or not isinstance(labels, list) or not all(type(each) is int and each >= 0 for each in labels):
            raise FileError(f"{type(self).__name__}: {path}: expected rows of {PIXELS} bytes as 'data' and ints as "
                            f"{self.key!r}")  # fmt: skip
        pixels: NDArray[np.uint8] = np.asarray(images)
        return pixels, np.array(labels, np.int64)


class CIFAR100(CIFAR10):
    """60,000 colour images of 32x32 pixels in 100 classes; see CIFAR10 for the parameters."""

    folders = ("cifar-100-binary", "", "cifar-100-python")
    archive = "cifar-100-python.tar.gz"
    parts = {True: ("train",), False: ("test",)}
    key, skipped = "fine_labels", 1  # a coarse label is in front of the fine one
    classes = tuple(str(k) for k in range(100))

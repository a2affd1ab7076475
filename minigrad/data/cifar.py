"""CIFAR-10 and CIFAR-100, from the binary files or from the Python pickles, which are read without executing them."""

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
    """Replaces a NumPy array in a pickle: its state is checked, and nothing else is executed."""

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
    """Replaces a NumPy dtype in a pickle; only its name is stored."""

    def __init__(self, name: Any, *rest: Any) -> None:
        self.name = name.decode() if isinstance(name, bytes) else name

    def __setstate__(self, state: Any) -> None:
        """Ignore the state, because a dtype of one byte has none that matters."""


def reconstruct(*arguments: Any) -> Array:
    """Return an `Array`, instead of calling NumPy's function of the same name."""
    return Array()


STANDINS: Final = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): reconstruct for core in ("core", "_core")},
    ("numpy", "ndarray"): Array,
    ("numpy", "dtype"): Kind,
}


class Unpickler(pickle.Unpickler):
    """An unpickler for dicts, lists, strings, numbers and uint8 arrays, which cannot call anything else."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function that replaces a name; raise FileError for any other name."""
        if (module, name) == ("_codecs", "encode"):
            return encoded
        if (module, name) not in STANDINS:
            raise FileError(
                f"the pickle calls {module}.{name}, which no data set of images needs, so the file is not read; "
                "download the file again from its source"
            )
        return STANDINS[module, name]


def encoded(text: Any, encoding: Any = "latin1") -> bytes:
    """Return the bytes that pickle protocol 2 stores as a string."""
    result: bytes = text.encode("latin1")
    return result


def read_pickle(path: str) -> dict[str, Any]:
    """Return the dict in a CIFAR pickle, without executing it, or raise FileError."""
    with reading(path):
        values = Unpickler(io.BytesIO(content(path)), encoding="latin1").load()
        return {name: each.values if isinstance(each, Array) else each for name, each in values.items()}


class CIFAR10(Images):
    """Read CIFAR-10: color images of 32x32 pixels in ten classes, 50,000 for training and 10,000 for testing.

    Parameters
    ----------
    root : str or path
        Folder that contains `cifar-10-batches-bin` or `cifar-10-batches-py`, or the files of one of these folders.
    train : bool, default True
        Whether to read the training set; False selects the test set.
    transform, target_transform : callable, optional
        Functions that are applied to each image or label. Without them, batches are gathered as a whole.
    download : bool, default False
        Has no effect, because nothing is downloaded; torchvision has this parameter.

    Raises
    ------
    FileError
        If a file is damaged or missing; the message contains the path where a missing file belongs.

    Notes
    -----
    `images` is float32 (n, 3, 32, 32) in [0, 1], and `targets` is int64 (n,).
    """

    # The error message for a missing file contains the last folder.
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
            raise FileError(
                f"{type(self).__name__}: labels must be less than {len(self.classes)}, the number of classes, got "
                f"{labels.max()}; download the files again"
            )

    def part(self, file: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Return the images and labels of a file; the binary version is preferred."""
        name = type(self).__name__
        files = f"{file}.bin", file
        path = located(name, self.root, self.folders, files, f"unpack {self.archive} in {os.fspath(self.root)}")
        return self.binary(path) if path.endswith(".bin") else self.pickled(path)

    def binary(self, path: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Read records, each of which has one byte per label, followed by the pixels."""
        data = np.frombuffer(content(path), np.uint8)
        record = 1 + self.skipped + PIXELS
        if not data.size or data.size % record:
            raise FileError(
                f"{type(self).__name__}: {path} must contain records of {record} bytes, got {data.size} bytes; "
                "download the file again"
            )
        records = data.reshape(-1, record)
        return records[:, 1 + self.skipped :], records[:, self.skipped]

    def pickled(self, path: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Read the arrays in a pickle."""
        arrays = read_pickle(path)
        images, labels = arrays.get("data"), arrays.get(self.key)
        fits: bool = isinstance(images, np.ndarray) and images.ndim == 2 and images.shape[1] == PIXELS
        if not fits or not isinstance(labels, list) or not all(type(each) is int and each >= 0 for each in labels):
            raise FileError(f"{type(self).__name__}: {path} must contain rows of {PIXELS} bytes as 'data' and ints as "
                f"{self.key!r}; download the file again")  # fmt: skip
        pixels: NDArray[np.uint8] = np.asarray(images)
        return pixels, np.array(labels, np.int64)


class CIFAR100(CIFAR10):
    """60,000 color images of 32x32 pixels in 100 classes; the parameters are the same as for CIFAR10."""

    folders = ("cifar-100-binary", "", "cifar-100-python")
    archive = "cifar-100-python.tar.gz"
    parts = {True: ("train",), False: ("test",)}
    key, skipped = "fine_labels", 1  # each record has a coarse label before the fine label
    classes = tuple(str(k) for k in range(100))

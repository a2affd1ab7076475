"""CIFAR-10 and CIFAR-100, MNIST and FashionMNIST, from their files.

Python pickles are read without executing them.  The IDX format of MNIST consists of two zero bytes, a type, the rank,
the shape, and the elements.
"""

from __future__ import annotations

import io
import math
import os
import pickle
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from minigrad.data.files import content, located
from minigrad.data.images import Images
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
    return text.encode("latin1")


def read_pickle(path: str) -> dict[str, Any]:
    """Return the dict in a CIFAR pickle, without executing it, or raise FileError."""
    with reading(path):
        values = Unpickler(io.BytesIO(content(path)), encoding="latin1").load()
        return {name: each.values if isinstance(each, Array) else each for name, each in values.items()}


class CIFAR10(Images):
    """Read CIFAR-10: color images of 32x32 pixels in ten classes, 50,000 for training and 10,000 for testing.

    root: Folder that contains `cifar-10-batches-bin` or `cifar-10-batches-py`, or the files of one of these folders.

    Raises FileError if a file is damaged or missing; the message contains the path where a missing file belongs.

    `images` is float32 (n, 3, 32, 32) in [0, 1], and `targets` is int64 (n,).
    """

    # The error message for a missing file contains the last folder.
    folders = ("cifar-10-batches-bin", "", "cifar-10-batches-py")
    archive = "cifar-10-python.tar.gz"
    parts = {True: tuple(f"data_batch_{k}" for k in range(1, 6)), False: ("test_batch",)}
    key, skipped = "labels", 0
    classes: Any = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Return the images and the labels of all files of a part."""
        read = [self.part(file) for file in self.parts[bool(self.train)]]
        images, labels = (np.concatenate(each) for each in zip(*read))
        if not len(self.classes) > int(labels.max(initial=0)):
            raise FileError(
                f"{type(self).__name__}: labels must be less than {len(self.classes)}, the number of classes, got "
                f"{labels.max()}; download the files again"
            )
        return images.reshape(-1, 3, 32, 32), labels

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


TYPES: Final = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: Any) -> NDArray[Any]:
    """Read an IDX file as a NumPy array.

    Returns (numpy.ndarray): New array in the byte order of this machine.

    Raises FileError if the file is missing, truncated, too long, or of another format.

    Source: Y. LeCun, C. Cortes, C. Burges, "The MNIST database", section "The IDX file format".
    """
    data, name = content(path), os.fspath(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in TYPES:
        raise FileError(
            f"read_idx: {name}: expected an IDX file, which begins with two zero bytes and a type, got another file; "
            "check the path"
        )
    rank, dtype = data[3], np.dtype(TYPES[data[2]])
    begin = 4 + 4 * rank
    if len(data) < begin:
        raise FileError(
            f"read_idx: {name}: expected a header with a shape of rank {rank}, got a shorter file; download it again"
        )
    shape = tuple(int.from_bytes(data[4 + 4 * k : 8 + 4 * k], "big") for k in range(rank))
    expected = math.prod(shape) * dtype.itemsize
    if len(data) - begin != expected:
        raise FileError(
            f"read_idx: {name}: the file must have {expected} bytes of {dtype.name} for the shape {shape}, got "
            f"{len(data) - begin}; download the file again"
        )
    return np.frombuffer(data, dtype, offset=begin).reshape(shape).astype(dtype.newbyteorder("="))


class MNIST(Images):
    """Read MNIST: handwritten digits of 28x28 pixels, 60,000 images for training and 10,000 for testing.

    root: Folder of the four files, such as `train-images-idx3-ubyte.gz`, or torchvision's folder `MNIST/raw`.

    Raises FileError if a file is damaged or missing; the message contains the path where a missing file belongs.

    `images` is float32 (n, 1, 28, 28) in [0, 1], and `targets` is int64 (n,).
    """

    source = "the site of the data set or a mirror has it"
    classes = tuple("0123456789")

    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Return the images and the labels of the two files of a part."""
        return self.array("images-idx3-ubyte", 3)[:, None], self.array("labels-idx1-ubyte", 1)

    def array(self, ending: str, rank: int) -> NDArray[Any]:
        """Return the array in one of the files, which must be uint8 of the given rank."""
        name = type(self).__name__
        stem = f"{'train' if self.train else 't10k'}-{ending}"
        dotted = stem.replace("-idx", ".idx")
        files = (stem, f"{stem}.gz", dotted, f"{dotted}.gz")
        folders = (os.path.join(name, "raw"), name, "raw", "")
        path = located(name, self.root, folders, files, self.source)
        result = read_idx(path)
        if result.ndim != rank or result.dtype != np.uint8:
            raise FileError(
                f"{name}: {path} must contain uint8 values of rank {rank}, got {result.dtype} of rank {result.ndim}; "
                "check the path"
            )
        return result


class FashionMNIST(MNIST):
    """Images of ten kinds of clothes, in the format of MNIST; the parameters are the same as for `MNIST`."""

    classes = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")

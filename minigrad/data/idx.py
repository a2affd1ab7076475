"""The IDX file format of MNIST and FashionMNIST: two zero bytes, a type, the rank, the shape, and the elements."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from minigrad.data.images import Images
from minigrad.data.paths import content, located
from minigrad.errors import FileError

TYPES: Final = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: Any) -> NDArray[Any]:
    """Read an IDX file as a NumPy array.

    Parameters
    ----------
    path : str or path
        Path of the file. A file whose name ends in .gz is decompressed.

    Returns
    -------
    numpy.ndarray
        New array in the byte order of this machine.

    Raises
    ------
    FileError
        If the file is missing, truncated, too long, or of another format.

    References
    ----------
    Y. LeCun, C. Cortes, C. Burges, "The MNIST database", section "The IDX file format".
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

    Parameters
    ----------
    root : str or path
        Folder of the four files, such as `train-images-idx3-ubyte.gz`, or torchvision's folder `MNIST/raw`.
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
    `images` is float32 (n, 1, 28, 28) in [0, 1], and `targets` is int64 (n,).
    """

    source = "the site of the data set or a mirror has it"
    classes = tuple("0123456789")

    def __init__(
        self, root: Any, train: bool = True, transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None, download: bool = False,
    ) -> None:  # fmt: skip
        self.root, self.train = root, train
        images = self.array("images-idx3-ubyte", 3)
        labels = self.array("labels-idx1-ubyte", 1)
        super().__init__(type(self).__name__, images[:, None], labels, transform, target_transform)

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

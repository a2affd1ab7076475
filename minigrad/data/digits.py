"""What do people's handwritten digits look like as numbers?

The 1797 images of 8x8 grey values lie beside this module in `digits.npz`; `DIGITS-NOTICE.txt` says where they come
from. `load_digits` scales them, splits off the same fifth every time and returns NumPy arrays.
"""

from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minigrad.errors import ArgumentError

__all__ = ["CLASSES", "PIXELS", "load_digits"]

CLASSES: Final = 10
PIXELS: Final = 64
WHITE: Final = 16
"""The largest grey value: a pixel counts the inked dots of a 4x4 square of the original scan."""

FOLDS: Final = 5


def load_digits(
    *, fold: int = FOLDS - 1
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """The handwritten digits as `(train_images, train_labels, test_images, test_labels)`.

    The split is a fixed rule without random numbers. The images of each class are numbered in file order from 0, and
    those whose number leaves the remainder `fold` on division by 5 are held out. So every class gives a fifth of
    itself, and the five folds together hold each image out exactly once. The same people wrote both parts:
    the test asks for unseen images, not for unseen hands.

    The arrays are new at each call and may be written to.

    Shapes: images `(n, 64)`, labels `(n,)`; n is 1442 and 355 for the default fold.
    DTypes: float32 images in [0, 1], int64 labels from 0 to 9.
    Raises: ArgumentError if `fold` is not one of 0 to 4.
    Source: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998,
        DOI 10.24432/C50P49, CC BY 4.0.
    Example:
        >>> train_images, train_labels, test_images, test_labels = load_digits()
        >>> train_images.shape, test_images.shape
        ((1442, 64), (355, 64))
    """
    if isinstance(fold, bool) or fold not in range(FOLDS):
        raise ArgumentError(f"load_digits: fold must be one of 0 to {FOLDS - 1}, not {fold!r}")
    images, labels = _read()
    flat = images.reshape(-1, PIXELS).astype(np.float32) / np.float32(WHITE)
    wide = labels.astype(np.int64)
    held_out = _number_within_class(wide) % FOLDS == fold
    return flat[~held_out], wide[~held_out], flat[held_out], wide[held_out]


@cache
def _read() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The file's two arrays, read once; `load_digits` never hands them out, so nobody can change them."""
    with resources.files(__package__).joinpath("digits.npz").open("rb") as file, np.load(file) as archive:
        return archive["images"], archive["labels"]


def _number_within_class(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many earlier entries carry the same label, for each entry.

    >>> _number_within_class(np.array([7, 3, 7, 7, 3])).tolist()
    [0, 0, 1, 2, 1]
    """
    number = np.empty_like(labels)
    for label in np.unique(labels):
        members = labels == label
        number[members] = np.arange(np.count_nonzero(members))
    return number

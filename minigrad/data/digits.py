"""Handwritten digits: the small real data set that is part of the package.

This folder contains 1797 images of 8x8 gray values in `digits.npz`; `DIGITS-NOTICE.txt` names their source.
"""

from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minigrad.core.roles import Number

__all__ = ["CLASSES", "PIXELS", "load_digits"]

CLASSES: Final = 10
PIXELS: Final = 64
WHITE: Final = 16
"""The largest grey value: a pixel counts the inked dots of a 4x4 square of the original scan."""

FOLDS: Final = 5


def load_digits(
    *, fold: int = FOLDS - 1
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Return handwritten digits, split into a training set and a test set.

    fold: Index of the test set, from 0 to 4: the images are divided into five parts, and one part is the test set.

    Returns:
        train_images, train_labels : numpy.ndarray
            New arrays: images float32 (n, 64) in [0, 1], labels int64 (n,) from 0 to 9. For the default fold, n is
            1442.
        test_images, test_labels : numpy.ndarray
            The same for the test set. For the default fold, n is 355.

    Raises ArgumentError if `fold` is not an int from 0 to 4.

    The split is fixed and uses no random numbers. The images of each class are numbered from 0 in file order, and the
    images whose number modulo 5 equals `fold` are the test set. So a test set has a fifth of each class, and each image
    is in one of the five test sets. The same people wrote the digits of both sets, so the test measures how well a
    model classifies new images of these writers, not images of other writers.

    Source: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998,
    DOI 10.24432/C50P49, CC BY 4.0.

    >>> train_images, train_labels, test_images, test_labels = load_digits()
    >>> train_images.shape, test_images.shape
    ((1442, 64), (355, 64))
    """
    Number(0, FOLDS - 1, whole=True, example=0).expect("load_digits", fold=fold)
    images, labels = _read()
    flat = images.reshape(-1, PIXELS).astype(np.float32) / np.float32(WHITE)
    wide = labels.astype(np.int64)
    held_out = _number_within_class(wide) % FOLDS == fold
    return flat[~held_out], wide[~held_out], flat[held_out], wide[held_out]


@cache
def _read() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the two arrays of the file, which is read only once; `load_digits` returns copies of them."""
    with resources.files(__package__).joinpath("digits.npz").open("rb") as file, np.load(file) as archive:
        return archive["images"], archive["labels"]


def _number_within_class(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of earlier entries with the same label, for each entry.

    >>> _number_within_class(np.array([7, 3, 7, 7, 3])).tolist()
    [0, 0, 1, 2, 1]
    """
    number = np.empty_like(labels)
    for label in np.unique(labels):
        members = labels == label
        number[members] = np.arange(np.count_nonzero(members))
    return number

"""The vendored digits are the published ones, and they are split the same way every time."""

import hashlib
from importlib import resources

import numpy as np
import pytest

from minigrad.data import digits, load_digits
from minigrad.errors import ArgumentError

IMAGES_SHA256 = "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3"
LABELS_SHA256 = "8ba4f891220f5e4c9c819638d1602d74b83618f167043c6da52a2a247841ddf0"
PER_CLASS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_file_holds_the_published_numbers():
    images, labels = digits._read()
    assert images.shape == (1797, 8, 8) and images.dtype == np.uint8 and images.max() == 16
    assert hashlib.sha256(images.tobytes()).hexdigest() == IMAGES_SHA256
    assert hashlib.sha256(labels.tobytes()).hexdigest() == LABELS_SHA256
    assert np.bincount(labels).tolist() == PER_CLASS


def test_the_notice_lies_beside_the_data():
    notice = resources.files("minigrad.data").joinpath("DIGITS-NOTICE.txt").read_text(encoding="utf-8")
    for part in ("Alpaydin", "Kaynak", "10.24432/C50P49", "CC BY 4.0", "What was changed"):
        assert part in notice


def test_images_are_flat_and_scaled_and_labels_are_int64():
    train_images, train_labels, test_images, test_labels = load_digits()
    assert train_images.shape == (1442, 64) and test_images.shape == (355, 64)
    assert train_labels.shape == (1442,) and test_labels.shape == (355,)
    for images in (train_images, test_images):
        assert images.dtype == np.float32 and images.flags.c_contiguous
        assert images.min() == 0.0 and images.max() == 1.0
    assert train_labels.dtype == np.int64 and test_labels.dtype == np.int64


def test_every_fifth_image_of_each_class_is_held_out():
    _, train_labels, _, test_labels = load_digits()
    assert np.bincount(test_labels).tolist() == [count // 5 for count in PER_CLASS]
    assert (np.bincount(train_labels) + np.bincount(test_labels)).tolist() == PER_CLASS
    images, labels = digits._read()
    fifth_zero = images[np.flatnonzero(labels == 0)[4]].reshape(64) / 16
    assert (load_digits()[2][np.flatnonzero(test_labels == 0)[0]] == fifth_zero).all()


def test_the_five_folds_hold_each_image_out_once():
    sizes = [len(load_digits(fold=fold)[3]) for fold in range(5)]
    assert sum(sizes) == 1797
    assert max(sizes) - min(sizes) <= 10
    held_out = np.concatenate([load_digits(fold=fold)[2] for fold in range(5)])
    images = digits._read()[0].reshape(-1, 64) / np.float32(16)
    assert (np.unique(held_out, axis=0) == np.unique(images, axis=0)).all()


def test_two_calls_are_equal_and_share_nothing():
    first, second = load_digits(), load_digits()
    for one, other in zip(first, second, strict=True):
        assert (one == other).all() and not np.shares_memory(one, other)
    first[0][:] = -1
    first[1][:] = -1
    assert load_digits()[0].min() == 0.0 and load_digits()[1].min() == 0


@pytest.mark.parametrize("fold", [-1, 5, 1.5, True, "0", None])
def test_a_fold_outside_of_0_to_4_is_refused(fold):
    with pytest.raises(ArgumentError, match=r"fold must be (a number from 0 to 4|an int), got"):
        load_digits(fold=fold)


def test_the_digits_equal_the_copy_of_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed: nothing to compare with")
    theirs = datasets.load_digits()
    images, labels = digits._read()
    assert (images == theirs.images).all() and (labels == theirs.target).all()

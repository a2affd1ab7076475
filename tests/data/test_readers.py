"""Readers of files: IDX, CIFAR, CSV, folders of images and texts; a damaged or missing file gives a sentence."""

from __future__ import annotations

import contextlib
import gzip
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad import data
from minigrad.data import vision
from minigrad.errors import ArgumentError, FileError

DRAW = np.random.default_rng(0)
IMAGES = DRAW.integers(0, 256, (5, 28, 28), np.uint8)
LABELS = np.array([3, 1, 4, 1, 5], np.uint8)


def idx(array: Any, code: int = 0x08) -> bytes:
    """The bytes of an IDX file."""
    shape = b"".join(struct.pack(">I", n) for n in array.shape)
    return bytes([0, 0, code, array.ndim]) + shape + array.astype(array.dtype.newbyteorder(">")).tobytes()


# ---- IDX ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "dtype"), [(8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")])
def test_arrays_of_each_type_are_read(tmp_path: Path, code: int, dtype: str) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    (tmp_path / "a").write_bytes(idx(array, code))
    (tmp_path / "a.gz").write_bytes(gzip.compress(idx(array, code)))
    for name in ("a", "a.gz"):
        read = data.read_idx(tmp_path / name)
        assert read.dtype == array.dtype and read.dtype.isnative and (read == array).all()
        read[...] = 0


def test_a_damaged_idx_file_is_named(tmp_path: Path) -> None:
    path, whole = tmp_path / "a", idx(IMAGES)
    for text, message in ((b"", "an IDX file"), (b"PK\3\4", "an IDX file"), (whole[:9], "got a shorter file"),
                          (whole[:-1], "must have 3920 bytes .*got 3919"), (whole + b"x", "got 3921")):  # fmt: skip
        path.write_bytes(text)
        with pytest.raises(FileError, match=f"read_idx: .*a\\b.*{message}"):
            data.read_idx(path)
    (tmp_path / "a.gz").write_bytes(gzip.compress(whole)[:-20])
    with pytest.raises(FileError, match=r"a\.gz is damaged"):
        data.read_idx(tmp_path / "a.gz")


@pytest.mark.parametrize("kind", [data.MNIST, data.FashionMNIST])
def test_mnist_is_found_in_the_folders_that_it_lies_in(tmp_path: Path, kind: Any) -> None:
    name = kind.__name__
    for root, ending, packed in ((tmp_path / "a" / name / "raw", "", True), (tmp_path / "b", ".gz", False)):
        root.mkdir(parents=True)
        for stem, array in (("images-idx3-ubyte", IMAGES), ("labels-idx1-ubyte", LABELS)):
            whole = idx(array)
            (root / f"t10k-{stem}{ending}").write_bytes(whole if packed else gzip.compress(whole))
        ds = kind(tmp_path / root.relative_to(tmp_path).parts[0], train=False, download=True)
        (batch,) = data.DataLoader(ds, 5)
        assert batch[0].shape == (5, 1, 28, 28) and batch[1].tolist() == LABELS.tolist() and len(ds) == 5
        assert (np.rint(batch[0].numpy()[:, 0] * 255) == IMAGES).all()
        assert ds[2][0].shape == (1, 28, 28) and ds[2][1] == 4 and ds.classes[ds[2][1]]


def test_transforms_are_applied_to_each_image(tmp_path: Path) -> None:
    for stem, array in (("images-idx3-ubyte", IMAGES), ("labels-idx1-ubyte", LABELS)):
        (tmp_path / f"train-{stem}").write_bytes(idx(array))
    ds = data.MNIST(tmp_path, transform=lambda image: image.shape, target_transform=lambda label: -label)
    assert ds[0] == ((1, 28, 28), -3) and not hasattr(ds, "__getbatch__") and ds.draws


def test_a_missing_file_is_named_with_its_folder(tmp_path: Path) -> None:
    with pytest.raises(
        FileError, match=rf"MNIST: there is no train-images-idx3-ubyte or .* in {tmp_path}.*; put the file there"
    ):
        data.MNIST(tmp_path)
    with pytest.raises(
        FileNotFoundError,
        match=r"CIFAR10: .*data_batch_1\.bin or data_batch_1 in .*cifar-10-batches-py; .*unpack cifar-10-python.tar.gz",
    ):
        data.CIFAR10(tmp_path)
    with pytest.raises(FileError, match=r"CIFAR100: there is no test\.bin or test in .*cifar-100-python"):
        data.CIFAR100(tmp_path, train=False)
    for read in (data.read_idx, data.read_text, data.CSV):
        with pytest.raises(FileError, match=rf"there is no file {tmp_path / 'x'}; put the file there"):
            read(tmp_path / "x")
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx(IMAGES))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(LABELS[:4]))
    with pytest.raises(FileError, match="MNIST: expected a label for each image, got 5 images and 4 labels"):
        data.MNIST(tmp_path, train=False)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(IMAGES))
    with pytest.raises(FileError, match="must contain uint8 values of rank 1, got uint8 of rank 3"):
        data.MNIST(tmp_path, train=False)


# ---- CIFAR ----------------------------------------------------------------------------------------------------------

PIXELS = DRAW.integers(0, 256, (4, 3072), np.uint8)


def python2(array: Any, labels: list[int], key: bytes = b"labels") -> bytes:
    """A pickle as that of the published files: protocol 2, texts of Python 2, an array by NumPy's function."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value if len(value) < 256 else b"T" + struct.pack("<i", len(value)) + value

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    shape = b"".join(map(number, array.shape))
    values = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
        + number(0)
        + b"\x85"
        + text(b"b")
        + b"\x87R("
        + number(1)
        + shape
        + b"\x86cnumpy\ndtype\n"
        + text(b"u1")
        + number(0)
        + number(1)
        + b"\x87R("
        + number(3)
        + text(b"|")
        + b"NNN"
        + number(-1) * 2
        + number(0)
        + b"tb\x89"
        + text(array.tobytes())
        + b"tb"
    )
    items = text(b"data") + values + text(key) + b"](" + b"".join(map(number, labels)) + b"e"
    return b"\x80\x02}(" + items + b"u."


def test_the_pickle_of_the_test_is_one() -> None:
    read = pickle.loads(python2(PIXELS, [1, 2, 3, 4]), encoding="bytes")
    assert (read[b"data"] == PIXELS).all() and read[b"labels"] == [1, 2, 3, 4]


def test_both_versions_of_cifar_are_read(tmp_path: Path) -> None:
    labels = [7, 0, 9, 2]
    for version in ("py", "bin"):
        folder = tmp_path / version / f"cifar-10-batches-{version}"
        folder.mkdir(parents=True)
        records = np.concatenate([np.array(labels, np.uint8)[:, None], PIXELS], 1).tobytes()
        for name in [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]:
            ending, text = (".bin", records) if version == "bin" else ("", python2(PIXELS, labels))
            (folder / f"{name}{ending}").write_bytes(text)
        for train, count in ((True, 20), (False, 4)):
            ds = data.CIFAR10(tmp_path / version, train=train)
            assert len(ds) == count and ds.targets.tolist() == labels * (count // 4)
            assert (np.rint(ds.images.numpy()[:4] * 255).astype(np.uint8).reshape(4, -1) == PIXELS).all()
        assert data.CIFAR10(folder, train=False).targets.tolist() == labels


def test_cifar_100_has_fine_labels(tmp_path: Path) -> None:
    (tmp_path / "cifar-100-python").mkdir()
    (tmp_path / "cifar-100-python" / "test").write_bytes(python2(PIXELS, [99, 0, 5, 6], b"fine_labels"))
    assert data.CIFAR100(tmp_path, train=False).targets.tolist() == [99, 0, 5, 6]
    pairs = np.array([[1, 99], [2, 0], [3, 5], [4, 6]], np.uint8)
    (tmp_path / "test.bin").write_bytes(np.concatenate([pairs, PIXELS], 1).tobytes())
    assert data.CIFAR100(tmp_path, train=False).targets.tolist() == [99, 0, 5, 6]


class Evil:
    """An object whose pickle calls a function."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call


def test_a_pickle_is_not_executed(tmp_path: Path) -> None:
    path = tmp_path / "evil"
    for call in ((os.mkdir, (str(tmp_path / "made"),)), (eval, ("1",)), (getattr, ("a", "upper")), (np.load, ("x",))):
        path.write_bytes(pickle.dumps({"data": Evil(*call)}, 2))
        with pytest.raises(FileError, match=r"evil: the pickle calls \w+\.\w+, .*the file is not read"):
            vision.read_pickle(str(path))
    assert not (tmp_path / "made").exists()


def test_a_damaged_cifar_file_gives_a_sentence_or_its_arrays(tmp_path: Path) -> None:
    whole, path = python2(PIXELS[:1], [7]), tmp_path / "test_batch"
    draw = np.random.default_rng(1)
    for _ in range(300):
        text = bytearray(whole)
        for place in draw.integers(0, 170, draw.integers(1, 4)):
            text[place] = draw.integers(0, 256)
        path.write_bytes(bytes(text[: draw.integers(1, len(text))] if draw.random() < 0.3 else text))
        with contextlib.suppress(FileError):
            assert data.CIFAR10(tmp_path, train=False).images.shape == (1, 3, 32, 32)
    for text, message in ((python2(PIXELS, [1]), "4 images and 1 labels"), (python2(PIXELS[:, 1:], [1]), "rows of"),
                          (python2(PIXELS[:1], [10]), "labels must be less than 10"), (b"", "damaged")):  # fmt: skip
        path.write_bytes(text)
        with pytest.raises(FileError, match=message):
            data.CIFAR10(tmp_path, train=False)
    (tmp_path / "test_batch.bin").write_bytes(b"123")
    with pytest.raises(FileError, match="must contain records of 3073 bytes, got 3 bytes"):
        data.CIFAR10(tmp_path, train=False)


# ---- tables ---------------------------------------------------------------------------------------------------------


def test_a_table_has_features_and_a_target(tmp_path: Path) -> None:
    path = tmp_path / "flowers.csv"
    path.write_text('length,width,kind\n1.5,2,"setosa"\n3,4.5,virginica\n\n5,6,setosa\n')
    ds = data.CSV(path, target="kind")
    assert ds.columns == ["length", "width"] and ds.classes == ["setosa", "virginica"] and len(ds) == 3
    assert ds.tensors[0].tolist() == [[1.5, 2.0], [3.0, 4.5], [5.0, 6.0]] and ds.tensors[1].tolist() == [0, 1, 0]
    path.write_text("1;2;3\n4;5;6.5\n")
    assert data.CSV(path, target=-1, delimiter=";", dtype="float64").tensors[1].tolist() == [3.0, 6.5]
    assert data.CSV(path, target=0, delimiter=";").tensors[1].dtype.name == "int64"
    assert data.CSV(path, delimiter=";").tensors[0].shape == (2, 3)
    assert data.CSV(path, delimiter=";", header=True).columns == ["1", "2", "3"]


def test_a_wrong_cell_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for text, message in (
        ("a,b\n1,2\n3,x\n", "line 3: the column 'b' must contain numbers, got 'x'"),
        ("a,b\n1,2\n3\n", "line 3: the line must have 2 cells, got 1"),
        ("", "must have at least one row of values"),
        ('a,b\n"1,2\n', "is damaged"),
        ("a,b\n1,\n", "the column 'b' must contain numbers, got ''"),
    ):
        path.write_text(text)
        with pytest.raises(FileError, match=rf"CSV: .*a\.csv.*{message}"):
            data.CSV(path)
    path.write_bytes(b"\xff\xfe1,2\n")
    with pytest.raises(FileError, match="is damaged"):
        data.CSV(path)
    path.write_text("a,b\n1,x\n2,\n")
    with pytest.raises(FileError, match="line 3: the line must have a value in the column 'b', got an empty cell"):
        data.CSV(path, target="b", header=True)
    for target in ("c", 2, -3, True):
        with pytest.raises(ArgumentError, match="target must be one of a, b or an index less than 2"):
            data.CSV(path, target=target, header=True)


# ---- images ---------------------------------------------------------------------------------------------------------


def test_a_folder_of_images_has_a_class_per_folder(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for k, name in enumerate(("dog/1.png", "cat/2.png", "cat/sub/3.JPG", "cat/notes.txt")):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("txt"):
            path.write_text("no image")
        else:
            image.new("RGB", (4, 2 + k), (255, 0, 51)).save(path)
    ds = data.ImageFolder(tmp_path)
    assert ds.classes == ["cat", "dog"] and ds.class_to_idx == {"cat": 0, "dog": 1} and ds.targets == [0, 0, 1]
    pixels, label = ds[2]
    assert pixels.shape == (3, 2, 4) and label == 1 and pixels[:, 0, 0].tolist() == pytest.approx([1.0, 0.0, 0.2])
    (batch,) = data.DataLoader(data.ImageFolder(tmp_path, size=(6, 5)), 3)
    assert batch[0].shape == (3, 3, 6, 5) and batch[1].tolist() == [0, 0, 1]
    (tmp_path / "dog" / "1.png").write_bytes(b"\x89PNG but damaged")
    with pytest.raises(FileError, match=r"read_image: Pillow cannot read .*1\.png"):
        ds[2]
    (tmp_path / "dog" / "1.png").unlink()
    with pytest.raises(FileError, match=r"read_image: there is no file .*1\.png; put the image there"):
        ds[2]
    with pytest.raises(FileError, match=r"ImageFolder: .*dog has no image"):
        data.ImageFolder(tmp_path)


def test_images_are_read_by_a_function_of_the_caller(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.png").write_bytes(b"7")
    ds = data.ImageFolder(tmp_path, str.upper, lambda label: -label - 1, lambda path: Path(path).name)
    assert ds[0] == ("A.PNG", -1) and len(ds) == 1


def test_a_folder_without_classes_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for root in (tmp_path, tmp_path / "missing"):
        with pytest.raises(FileError, match=rf"ImageFolder: {root} has no folders; create a folder for each class"):
            data.ImageFolder(root)
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(
        FileError, match=r"Pillow is required to read images, but it is not installed; run pip install 'pillow>=10'"
    ):
        data.read_image(tmp_path / "a.png")


# ---- texts ----------------------------------------------------------------------------------------------------------


def test_texts_are_windows_of_characters(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("grün 𝄞 abc", encoding="utf-8")
    text = data.read_text(tmp_path / "t.txt")
    ds = data.Characters(text, 4)
    assert len(ds) == len(text) - 4 and ds.decode(ds[3][0]) == text[3:7] and ds.decode(ds[3][1]) == text[4:8]
    for x, y in data.DataLoader(ds, 3):
        assert x.shape[1:] == y.shape[1:] == (4,) and (x[:, 1:].numpy() == y[:, :-1].numpy()).all()
    assert [ds.decode(x) for x, _ in ds] == [text[k : k + 4] for k in range(len(ds))]
    assert data.Characters("abba", 2, vocabulary="ba")[0][0].tolist() == [1, 0]
    for vocabulary in ("abc", ""):
        with pytest.raises(
            ArgumentError, match="vocabulary must contain all characters of the text, but 'd' is missing"
        ):
            data.Characters("dab", 1, vocabulary)
    with pytest.raises(ArgumentError, match="more than length=3 characters, got 3"):
        data.Characters("abc", 3)
    (tmp_path / "t.txt").write_bytes(b"ab\xff")
    with pytest.raises(FileError, match="must be encoded in UTF-8, got other bytes at offset 2"):
        data.read_text(tmp_path / "t.txt")


def test_python_brings_texts_along() -> None:
    assert len(data.topics()) > 300_000 and 'The "if" statement' in data.topics()
    names = data.character_names()
    assert len(names) > 20_000 and "GREEK SMALL LETTER ALPHA" in names and len(set(names)) == len(names)

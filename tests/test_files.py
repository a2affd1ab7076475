"""mg.save and mg.load: the restored values, files for other libraries, and errors for damaged files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.api.files import trees
from minigrad.core import dtype as engine
from minigrad.errors import ArgumentError, FileError

SUFFIXES = ("safetensors", "npz")


def made(*shape: int, dtype: str = "float32") -> mg.Tensor:
    return mg.arange(int(np.prod(shape)), device="reference").reshape(shape).to(dtype)


def hold(loaded: Any, saved: Any) -> None:
    assert type(loaded) is (mg.Tensor if isinstance(saved, mg.Tensor) else type(saved))
    if isinstance(saved, dict):
        assert list(loaded) == list(saved)
        for key in saved:
            hold(loaded[key], saved[key])
    elif isinstance(saved, (list, tuple)):
        assert len(loaded) == len(saved)
        for one, other in zip(loaded, saved, strict=True):
            hold(one, other)
    elif isinstance(saved, mg.Tensor):
        assert loaded.dtype is saved.dtype and loaded.shape == saved.shape and loaded.tolist() == saved.tolist()
    else:
        assert repr(loaded) == repr(saved)


TREES: dict[str, Any] = {
    "every dtype": {dtype.name: made(2, 3, dtype=dtype.name) for dtype in engine.ALL},
    "shapes": {"scalar": mg.tensor(1.5, device="reference"), "empty": made(0, 3), "transposed": made(3, 2).T,
               "stepped": made(4, 6)[::2, 1::3], "flipped": made(5).flip(0), "expanded": made(1, 3).expand(2, 3)},
    "a tree": {"model": {"layers": [{"weight": made(2, 2)}, {"weight": made(2)}]}, "epoch": 3, "rate": 0.1, 7: None,
               "shape": (2, (True, "text"), []), "end": float("inf"), "big": 2**70, "nothing": {}},
    "one tensor": made(3), "a list": [made(2), made(1)], "no tensor": {"a": 1},
    "names that meet": {"a.b": made(1), "a": {"b": made(2)}, "__metadata__": made(3), "minigrad": made(4)},
    "names of parameters": {"file": made(1), "args": made(2), "kwds": made(3), "allow_pickle": made(4)},
    "names of files": {"a": made(1), "a.npy": made(2), "../b": made(3), "/c": made(4), "": made(5), ".": made(6)},
    "nothing": None,
    "a Var and a result": [mg.Var([1.0], device="reference").detach(), mg.tensor([2.0], device="reference").exp()],
}  # fmt: skip


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", TREES)
def test_a_tree_comes_back(tmp_path: Path, name: str, suffix: str) -> None:
    path = tmp_path / f"file.{suffix}"
    mg.save(TREES[name], path)
    hold(mg.load(path, "reference"), TREES[name])
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_tied_tensors_are_one_tensor_again(tmp_path: Path, suffix: str) -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    mg.save({"in": x, "out": x.detach(), "other": made(2)}, tmp_path / f"tied.{suffix}")
    loaded = mg.load(tmp_path / f"tied.{suffix}")
    assert loaded["in"] is loaded["out"] is not loaded["other"] and not loaded["in"].requires_grad
    loaded["in"].mul_(3.0)
    assert loaded["out"].tolist() == [3.0, 6.0]


def test_what_a_file_cannot_keep_is_refused(tmp_path: Path) -> None:
    x = made(6)
    with pytest.raises(ArgumentError, match=r"part and whole share a part of their memory.*part\.clone\(\)"):
        mg.save({"whole": x, "part": x[2:]}, tmp_path / "a")
    mg.save({"first": x[:3], "last": x[3:]}, tmp_path / "a")
    assert mg.load(tmp_path / "a")["last"].tolist() == [3.0, 4.0, 5.0]
    for wrong in ({"a": object()}, {"a": [{1}]}, {(1, 2): made(1)}, lambda: 1):
        with pytest.raises(ArgumentError, match="save: "):
            mg.save(wrong, tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_an_archive_cannot_keep_a_null_character(tmp_path: Path) -> None:
    tree = {"a": made(1), "a\0": made(2)}
    with pytest.raises(ArgumentError, match=r"must not contain the null character, got 'a\\x00'"):
        mg.save(tree, tmp_path / "a.npz")
    mg.save(tree, tmp_path / "a")
    hold(mg.load(tmp_path / "a", "reference"), tree)


def test_a_file_that_is_replaced_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "model"
    mg.save(made(2), path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~trees.umask()
    path.chmod(0o600)
    mg.save(made(3), path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_a_compressed_file_is_written_as_any_other(tmp_path: Path, module: Any) -> None:
    path, tree = tmp_path / "model", {"a": made(5000) * 0}
    with module.open(path, "wb") as file:
        mg.save(tree, file)
    assert path.stat().st_size < 1000, "no space was reserved in the file below"
    with module.open(path, "rb") as file:
        hold(mg.load(io.BytesIO(file.read()), "reference"), tree)


def test_a_file_that_is_open_gets_the_bytes_where_it_stands(tmp_path: Path) -> None:
    path, tree = tmp_path / "model", {"a": made(5)}
    whole_size = len(written_bytes(tree))
    for mode, before in (("wb", b""), ("wb", b"some"), ("ab", b""), ("r+b", b"12")):
        old = path.stat().st_size if mode != "wb" else 0
        with open(path, mode) as file:
            start = old if mode == "ab" else len(before)
            file.write(before)
            mg.save(tree, file)
            assert file.tell() == start + whole_size
        assert path.stat().st_size == max(old, start + whole_size)
        hold(mg.load(io.BytesIO(path.read_bytes()[start : start + whole_size]), "reference"), tree)


def written_bytes(tree: Any) -> bytes:
    file = io.BytesIO()
    mg.save(tree, file)
    return file.getvalue()


@pytest.mark.parametrize("suffix", ["", ".npz"])
def test_links_stay_and_pipes_are_written_to(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "disk").mkdir()
    real, link, pipe = tmp_path / "disk" / "model", tmp_path / f"link{suffix}", tmp_path / f"pipe{suffix}"
    link.symlink_to(real)
    for n in (2, 3):  # at first, the link's target is missing
        mg.save({"a": made(n)}, link)
        assert link.is_symlink() and mg.load(real)["a"].shape == mg.load(link)["a"].shape == (n,)
    assert os.listdir(tmp_path / "disk") == ["model"]
    os.mkfifo(pipe)
    received: list[bytes] = []
    thread = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    thread.start()
    mg.save({"a": made(4)}, pipe)
    thread.join(60)
    assert pipe.is_fifo() and mg.load(io.BytesIO(received[0]))["a"].shape == (4,)


def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    mg.save({"a": made(2)}, path)

    def fail(number: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        mg.save({"a": made(3)}, path)
    assert os.listdir(tmp_path) == ["model"] and mg.load(path)["a"].shape == (2,)


def test_an_object_with_a_state_is_refused_whole_and_its_state_dict_named(tmp_path: Path) -> None:
    model = mg.nn.Linear(2, 2, device="reference")
    for value, got in (
        (model, r"got Linear\(in_features=2, .*\.\.\. as the object"),
        ([mg.optim.SGD(model.parameters(), lr=0.1)], r"got SGD .*\.\.\. as 0"),
    ):
        with pytest.raises(
            ArgumentError, match=got + r"; save the state_dict\(\) of this object instead, as in mg.save"
        ):
            mg.save(value, tmp_path / "a")
    with pytest.raises(ArgumentError, match=r"got function whole as a; save the tensors and numbers of this object"):
        mg.save({"a": whole}, tmp_path / "a")


def test_a_file_in_memory_has_no_name_in_messages() -> None:
    with pytest.raises(FileError, match=r"^load: the file has 0 bytes"):
        mg.load(io.BytesIO(b""))
    with pytest.raises(FileError, match=r"^load: the file is a pickle"):
        mg.load(io.BytesIO(b"\x80" * 20))


def whole(suffix: str) -> bytes:
    tree = {"weight": made(4, 3, dtype="bfloat16"), "bias": made(3), "mask": made(5, dtype="bool"), "steps": [made(2)]}
    file = io.BytesIO()
    if suffix == "safetensors":
        mg.save(tree, file)
    else:
        np.savez(file, a=np.arange(6.0).reshape(2, 3), b=np.ones(3, bool))
    return file.getvalue()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_file_gives_a_sentence_or_tensors(suffix: str) -> None:
    data, rng = whole(suffix), random.Random(0)
    for k in range(len(data)):
        if suffix == "safetensors" or k < len(data) - 22:  # behind the end of an archive is a comment, at most
            with pytest.raises(FileError, match=r"^load: "):
                mg.load(io.BytesIO(data[:k]))
    read = 0
    for _ in range(1000):
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            mg.load(io.BytesIO(bytes(damaged)))
            read += 1
        except FileError as error:
            assert str(error).startswith("load: ") and "the file: " not in str(error)
    assert 0 < read < 1000


def test_files_of_other_kinds_say_what_to_do(tmp_path: Path) -> None:
    other = io.BytesIO()
    np.savez(other, a=np.array([object()], object))
    cases = {
        "the file is a pickle": pickle.dumps({"a": 1}), "allow_pickle=False": other.getvalue(), "truncated": b"hello",
        "complex256": saved_by_numpy(np.ones(2, np.clongdouble)), "dtype 'F8_E4M3'": by_hand("F8_E4M3", [2], [0, 2], 2),
        "must agree": by_hand("F32", [2], [0, 4], 4), "a gap": by_hand("F32", [1], [4, 8], 8),
        "after the last": by_hand("F32", [1], [0, 4], 9), "truncated, because 'a'": by_hand("F32", [2], [0, 8], 4),
    }  # fmt: skip
    for match, data in cases.items():
        with pytest.raises(FileError, match=match):
            mg.load(io.BytesIO(data))
    with pytest.raises(FileNotFoundError):
        mg.load(tmp_path / "absent")


@pytest.mark.parametrize("length", [0x80, 0x4B50, 0x14B50])
def test_a_header_may_have_a_length_that_begins_as_a_pickle_or_an_archive_does(length: int) -> None:
    data = by_hand("F32", [2], [0, 8], 8)
    header = data[8:-8].ljust(length)
    loaded = mg.load(io.BytesIO(length.to_bytes(8, "little") + header + data[-8:]), "reference")
    assert {name: x.tolist() for name, x in loaded.items()} == {"a": [0.0, 0.0]}


def test_names_that_save_model_left_out_come_back() -> None:
    header = (
        b'{"__metadata__":{"b.tied":"a","format":"a","note":"c"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    )
    loaded = mg.load(io.BytesIO(len(header).to_bytes(8, "little") + header + b"\7"), "reference")
    assert list(loaded) == ["a", "b.tied"] and loaded["a"] is loaded["b.tied"] and loaded["a"].tolist() == [7]


def saved_by_numpy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, a=array)
    return file.getvalue()


def by_hand(dtype: str, shape: list[int], offsets: list[int], count: int) -> bytes:
    header = f'{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}'.encode()
    return len(header).to_bytes(8, "little") + header + bytes(count)


@pytest.mark.arrays
def test_the_library_of_the_format_reads_and_writes_the_same(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors", reason="safetensors is not installed: no other reader")
    numpys = pytest.importorskip("safetensors.numpy")
    tree = TREES["every dtype"] | TREES["shapes"]
    mg.save(tree, tmp_path / "ours")
    with library.safe_open(tmp_path / "ours", framework="np") as file:
        assert set(file.keys()) == set(tree)
        for name, x in tree.items():
            array = file.get_tensor(name)
            assert array.dtype.name == x.dtype.name and array.tolist() == np.asarray(x).tolist()
    numpys.save_file({name: np.ascontiguousarray(np.asarray(x)).reshape(x.shape) for name, x in tree.items()},
                     tmp_path / "theirs", {"format": "np"})  # fmt: skip
    loaded = mg.load(tmp_path / "theirs", "reference")
    hold({name: loaded[name] for name in tree}, tree)


@pytest.mark.torch
def test_a_file_of_torch_save_is_refused_with_advice(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: none of its files")
    torch.save({"a": torch.ones(2)}, tmp_path / "model.pt")
    with pytest.raises(FileError, match=r"torch\.save.*safetensors\.torch\.save_file"):
        mg.load(tmp_path / "model.pt")


def test_load_takes_the_arguments_of_pytorch_that_change_nothing_here(tmp_path) -> None:
    path = tmp_path / "state.safetensors"
    mg.save({"weight": mg.ones(2), "epoch": 3}, path)
    for more in ({"weights_only": True}, {"weights_only": False}, {"mmap": True}):
        state = mg.load(path, map_location="cpu", **more)
        assert state["epoch"] == 3 and state["weight"].tolist() == [1.0, 1.0]

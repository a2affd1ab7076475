"""mg.Checkpoint: what comes back, what is kept, which file is taken, and a training that is killed and resumed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.api.files import checkpoints, trees
from minigrad.errors import ArgumentError, FileError

ROOT = Path(__file__).parents[1]
EPOCHS = 12


class Part:
    """Anything with a state."""

    def __init__(self, state: Any = None) -> None:
        self.state = state

    def state_dict(self) -> Any:
        return self.state

    def load_state_dict(self, state: Any) -> None:
        self.state = state


def tensor(*values: float, dtype: str = "float32") -> mg.Tensor:
    return mg.tensor(values, dtype=dtype, device="reference")


def plain(value: Any) -> Any:
    """A tree with lists of numbers instead of tensors."""
    if isinstance(value, mg.Tensor):
        return value.dtype.name, value.tolist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return type(value)(map(plain, value)) if isinstance(value, (list, tuple)) else value


TREE = {"weight": tensor(1, 2), "half": tensor(0.5, dtype="bfloat16"), "empty": mg.zeros(0, 2, device="reference"),
        "steps": {0: {"count": 3, "betas": (0.9, None)}, "name": "adam", "flags": [True, float("inf")]}}  # fmt: skip


def test_every_part_comes_back(tmp_path: Path) -> None:
    g = mg.Generator(5)
    g.offset = 12
    saved = [Part(TREE), Part({"lr": 0.1}), Part([]), Part({"batches": 3}), Part("text")]
    path = mg.Checkpoint(*saved[:4], g, folder=tmp_path / "a" / "b", ema=saved[4]).save(step=7, best=tensor(0.25))
    assert path == str(tmp_path / "a" / "b" / "checkpoint-00000001.safetensors")
    loaded, h = [Part() for _ in range(5)], mg.Generator(0)
    values = mg.Checkpoint(*loaded[:4], h, folder=tmp_path / "a" / "b", ema=loaded[4]).load("reference")
    assert [plain(each.state) for each in loaded] == [plain(each.state) for each in saved]
    assert (h.seed, h.offset) == (5, 12) and plain(values) == {"step": 7, "best": ("float32", [0.25])}
    assert plain(mg.load(path, "reference")["states"]["model"]) == plain(TREE)  # it is a file as any other


def test_random_numbers_go_on(tmp_path: Path) -> None:
    def drawn() -> list[float]:
        return [mg.rand(1, device="reference").item(), random.random(), random.gauss(0, 1), np.random.randn()]

    mg.manual_seed(1), random.seed(1), np.random.seed(1)
    drawn()
    checkpoint = mg.Checkpoint(folder=tmp_path)
    checkpoint.save()
    after = drawn()
    drawn()
    assert checkpoint.load() == {} and drawn() == after


def test_the_last_files_are_kept(tmp_path: Path) -> None:
    checkpoint = mg.Checkpoint(folder=tmp_path, keep=2)
    for step in range(4):
        (tmp_path / ".checkpoint-00000009.safetensors.x1").write_bytes(b"left by a process that was killed")
        checkpoint.save(step=step)
        (tmp_path / "notes.txt").write_text("stays")
    assert sorted(os.listdir(tmp_path)) == [f"checkpoint-{k:08d}.safetensors" for k in (3, 4)] + ["notes.txt"]
    assert mg.Checkpoint(folder=tmp_path).load() == {"step": 3}
    assert mg.Checkpoint(folder=tmp_path).save().endswith("checkpoint-00000005.safetensors")


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert mg.Checkpoint(folder=tmp_path / "new").load() is None and not (tmp_path / "new").exists()


def test_the_newest_intact_file_is_taken(tmp_path: Path) -> None:
    checkpoint = mg.Checkpoint(Part(TREE), folder=tmp_path)
    paths = [Path(checkpoint.save(step=step)) for step in range(3)]
    whole = paths[2].read_bytes()
    paths[2].write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.warns(
        UserWarning,
        match=r"00000003.*its checksum does not match its content.*loads the older checkpoint .*00000002",
    ):
        assert checkpoint.load("reference") == {"step": 1}
    paths[1].write_bytes(whole[:100])
    with pytest.warns(UserWarning):
        assert checkpoint.load("reference") == {"step": 0}
    paths[0].write_bytes(b"")
    with pytest.raises(FileError, match=r"no checkpoint in the folder .* is intact: Checkpoint: .*00000003"):
        checkpoint.load("reference")
    mg.save({"weight": tensor(1)}, paths[0])
    with pytest.raises(FileError, match="is intact"):
        checkpoint.load("reference")
    assert Path(checkpoint.save(step=9)).name == "checkpoint-00000004.safetensors"


def test_an_error_while_saving_leaves_the_older_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = mg.Checkpoint(Part(TREE), folder=tmp_path, keep=1)
    checkpoint.save(step=1)
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(trees.os, name, fail)
            with pytest.raises(OSError, match="no space left"):
                checkpoint.save(step=2)
        assert os.listdir(tmp_path) == ["checkpoint-00000001.safetensors"]
    assert checkpoint.load("reference") == {"step": 1}


def fail(*arguments: Any) -> None:
    raise OSError("no space left")


def test_parts_without_a_state_are_refused(tmp_path: Path) -> None:
    for wrong in (object(), {"weight": 1}, 3):
        with pytest.raises(ArgumentError, match="Checkpoint: model must be an object with the methods state_dict"):
            mg.Checkpoint(wrong)
    for keep in (0, True, 1.5):
        with pytest.raises(ArgumentError, match="keep must be a positive int"):
            mg.Checkpoint(keep=keep)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"save: expected tensors, numbers, strings, .* as states\.model"):
        mg.Checkpoint(Part({1, 2}), folder=tmp_path).save()
    mg.Checkpoint(Part({}), folder=tmp_path).save()
    with pytest.raises(
        FileError, match="must contain the state of optimizer, but the file contains the state of model"
    ):
        mg.Checkpoint(Part(), Part(), folder=tmp_path).load()


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.zeros(1, "M8[s]")], ids=str)
def test_an_array_that_no_file_can_have_is_named(tmp_path: Path, array: Any) -> None:
    with pytest.raises(ArgumentError, match=r"save: expected tensors, numbers, .*, got ndarray .* as values.names.1"):
        mg.Checkpoint(folder=tmp_path).save(names=[0, array])


def test_a_damaged_file_gives_a_sentence_or_the_right_tree(tmp_path: Path) -> None:
    result = outcomes(tmp_path, 300, seed=0)
    assert "WRONG" not in result and result["refused"] >= 290  # another space behind the header is no damage


def outcomes(folder: Path, count: int, seed: int) -> dict[str, int]:
    """Damage a checkpoint many times, and count what reading it does: `python -m tests.test_checkpoints 20000`."""
    path = folder / "checkpoint-00000001.safetensors"
    mg.Checkpoint(Part(TREE), Part({"lr": 0.1}), folder=folder).save(step=7)
    tree, whole = plain(checkpoints.content(str(path), mg.device("reference"))), path.read_bytes()
    draw, result = random.Random(seed), dict[str, int]()
    for _ in range(count):
        path.write_bytes(damaged(whole, draw))
        try:
            read = plain(checkpoints.content(str(path), mg.device("reference")))
            outcome = "read" if str(read) == str(tree) else "WRONG"
        except FileError:
            outcome = "refused"
        result[outcome] = result.get(outcome, 0) + 1
    return result


def damaged(whole: bytes, draw: random.Random) -> bytes:
    """Bytes that are cut, changed, swapped or lengthened, and never those that were."""
    data = bytearray(whole)
    kind = draw.random()
    if kind < 0.2:
        return bytes(data[: draw.randrange(len(data))])
    if kind < 0.3:
        return bytes(data) + draw.randbytes(draw.randrange(1, 9))
    if kind < 0.4:
        begin = draw.randrange(len(data) - 16)
        data[begin : begin + 8] = bytes(a ^ 255 for a in data[begin : begin + 8])
        return bytes(data)
    end = 8 if kind < 0.5 else len(data)
    for place in draw.sample(range(end), draw.randrange(1, 4)):
        data[place] ^= draw.randrange(1, 256)
    return bytes(data)


# ---- a training that is killed --------------------------------------------------------------------------------------


def training(folder: Path, pause: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "resumed_training.py"), str(folder), str(EPOCHS), str(pause)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def killed_and_resumed(folder: Path, draw: random.Random, kills: int, pause: float) -> tuple[str, int]:
    """Kill a training some times, after a random time behind its first steps, and return its end and the kills."""
    died = 0
    while True:
        before = len(os.listdir(folder)) if folder.is_dir() else 0
        process = training(folder, pause if died < kills else 0.0)
        if died < kills:
            start = time.monotonic()
            while process.poll() is None and time.monotonic() - start < 60:
                if folder.is_dir() and (before or os.listdir(folder)):
                    break
                time.sleep(0.005)
            time.sleep(draw.uniform(0.0, 1.5))
            process.send_signal(signal.SIGKILL)
        last = process.communicate(timeout=120)[0].strip()
        if process.returncode == 0:
            return last, died
        assert process.returncode == -signal.SIGKILL
        died += 1


def test_a_training_that_is_killed_ends_with_the_same_bits(tmp_path: Path) -> None:
    whole = training(tmp_path / "whole", 0.0)
    last, died = killed_and_resumed(tmp_path / "run", random.Random(0), 3, 0.02)
    assert last == whole.communicate()[0].strip() != "" and died >= 1
    assert all(name.startswith("checkpoint-") for name in os.listdir(tmp_path / "run"))


def by_hand(count: int, kills: int) -> None:
    """Fuzz many files, and kill trainings some times in all; print the outcomes."""
    import tempfile

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print("damaged files:", outcomes(Path(tempfile.mkdtemp()), count, seed=1), flush=True)
    draw, total, right, runs = random.Random(1), 0, 0, 0
    whole = training(Path(tempfile.mkdtemp()) / "whole", 0.0).communicate()[0].strip()
    while total < kills:
        last, died = killed_and_resumed(Path(tempfile.mkdtemp()) / "run", draw, 5, 0.02)
        total, right, runs = total + died, right + (last == whole), runs + 1
    print(f"killed {total} times, {right} of {runs} trainings ended with the same bits")


if __name__ == "__main__":
    by_hand(int(sys.argv[1]), int(sys.argv[2]))

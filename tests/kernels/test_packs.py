"""Packs: which processes may use a pack, and what happens if it does not fit or is damaged."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from small_kernel import run, scaled

from minigrad.cli import pack
from minigrad.config import override
from minigrad.kernels import objects, packs, store
from minigrad.kernels.cpu import processor

LEVEL = "x86-64-v3"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for packs, a processor of a level, and an empty cache."""
    monkeypatch.setattr(packs, "FOLDER", tmp_path / "packs")
    monkeypatch.setattr(packs, "level", lambda: LEVEL)
    monkeypatch.setattr(packs, "tile_shape", lambda dtype, known=None: (8, 6, 2))
    monkeypatch.setattr(objects, "settings", list)
    packs.opened.cache_clear()
    with override(cache_dir=tmp_path / "cache"):
        yield tmp_path / "packs"
    packs.opened.cache_clear()


def origin(factor: int = 3) -> str:
    """Where a kernel is from, in what is a new process as far as packs and cache can tell."""
    packs.opened.cache_clear()
    value, kernel = run(factor)
    assert value == 5 * factor
    return kernel.origin


def filled(level: str = LEVEL) -> Path:
    """A pack with the object code of one kernel, and an empty cache after that."""
    assert origin() == "compiled"
    assert pack.gather(level, store.cache_folder()) == 0
    for file in store.cache_folder().iterdir():
        file.unlink()
    return packs.path_of(level)


def test_a_kernel_comes_from_the_pack_and_its_text_can_be_read(shelf: Path) -> None:
    filled()
    assert origin(3) == "pack" and origin(7) == "compiled"
    assert store.source(run(3)[1].path) == scaled(3)


def test_what_was_compiled_here_comes_first(shelf: Path) -> None:
    path = filled()
    content = path.read_bytes()
    path.unlink()
    assert origin() == "compiled"
    path.write_bytes(content)
    assert origin() == "cache"


def test_a_pack_serves_without_a_cache(shelf: Path, tmp_path: Path) -> None:
    filled()
    (tmp_path / "file").write_text("")
    with override(cache_dir=tmp_path / "file"):
        assert origin() == "pack"


@pytest.mark.parametrize("other", ["x86-64-v2", "x86-64-v4", ""])
def test_a_pack_serves_its_own_level_alone(shelf: Path, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled()
    path.rename(shelf / f"{other}.zip")
    monkeypatch.setattr(packs, "level", lambda: other)
    assert origin() == "compiled"


def test_a_pack_is_left_alone_where_numba_is_told_to_compile_in_another_way(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled()
    monkeypatch.setattr(objects, "settings", lambda: ["NUMBA_OPT=0"])
    assert origin() == "compiled"


def test_a_pack_of_other_versions_is_left_alone(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled()
    monkeypatch.setattr(packs, "fits", lambda level: "another time")
    assert origin() == "compiled"


def damaged(path: Path, entry: bytes) -> None:
    with zipfile.ZipFile(path) as old:
        names = old.namelist()
    with zipfile.ZipFile(path, "w") as new:
        for name in names:
            new.writestr(name, entry)


@pytest.mark.parametrize("entry", [b"", b"something else\n", objects.MAGIC + b"0" * 64 + b"\n{}\ncode"])
def test_a_damaged_entry_is_compiled(shelf: Path, entry: bytes) -> None:
    damaged(filled(), entry)
    assert origin() == "compiled"


@pytest.mark.parametrize("content", [b"", b"no pack at all", None])
def test_what_is_no_pack_is_left_alone(shelf: Path, content: bytes | None) -> None:
    path = filled()
    path.write_bytes(path.read_bytes()[:-40] if content is None else content)
    assert origin() == "compiled"


def test_the_same_kernels_make_the_same_bytes(shelf: Path) -> None:
    found = {"a.py": ("text", objects.ObjectCode(("f",), (), b"code"))}
    written = []
    for _ in range(2):
        written.append(packs.write(LEVEL, found).read_bytes())
        assert packs.path_of(LEVEL).stat().st_mode & 0o777 == 0o644
    assert written[0] == written[1]


def test_a_level_that_this_processor_has_not_is_refused(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pack, "features", lambda: processor.LEVELS["x86-64-v3"])
    assert pack.run(["x86-64-v4"], ["float32"], None) == 2
    told = capsys.readouterr().err
    assert "has no avx512bw, avx512cd, avx512dq, avx512f, avx512vl, so it cannot run" in told
    assert not shelf.exists()


def test_a_processor_whose_tile_is_another_is_not_served(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One with AVX-512 in part is of a lower level, and its launches count on wider registers.
    filled()
    monkeypatch.setattr(packs, "tile_shape", lambda dtype, known=None: (16, 8, 2) if known is None else (8, 6, 2))
    assert origin() == "compiled"


def test_tiles_follow_the_features_that_are_given() -> None:
    assert processor.tile_shape("float32", processor.LEVELS["x86-64-v3"]) == (8, 6, 2)
    assert processor.tile_shape("float32", processor.LEVELS["x86-64-v3"] | {"avx512f"}) == (16, 8, 2)


def test_no_damage_to_a_pack_is_an_error(shelf: Path) -> None:
    path = filled()
    packs.opened.cache_clear()
    whole = packs.find(store.file_of("scaled", scaled(3)), scaled(3))
    assert whole is not None
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(200):
        damage = bytearray(content)
        at = int(rng.integers(len(damage)))
        damage[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damage[: int(rng.integers(at, len(damage)))] if rng.random() < 0.3 else damage))
        packs.opened.cache_clear()
        found = packs.find(store.file_of("scaled", scaled(3)), scaled(3))
        assert found is None or found == whole


def test_an_entry_of_any_size_is_not_read(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled()
    monkeypatch.setattr(packs, "LARGEST", 100)
    assert origin() == "compiled"


def test_nothing_to_pack_is_a_failure(shelf: Path, tmp_path: Path) -> None:
    assert pack.gather(LEVEL, tmp_path) == 1 and not packs.path_of(LEVEL).exists()

"""The kernel cache: damaged files are replaced, and without a usable cache ops still work."""

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from small_kernel import run, scaled

from minigrad.config import override
from minigrad.errors import KernelError
from minigrad.kernels import notice, objects, store

ROOT = Path(__file__).parent.parent.parent


def contents(folder):
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache with the machine code of two kernels."""
    folder = tmp_path_factory.mktemp("filled")
    with override(cache_dir=folder):
        assert run(3)[0] == 15 and run(7)[0] == 35
    return folder


@pytest.fixture
def cache(filled, tmp_path):
    folder = tmp_path / "cache"
    shutil.copytree(filled, folder, copy_function=shutil.copy2)
    with override(cache_dir=folder):
        yield folder


@pytest.fixture
def said(monkeypatch, capsys):
    """What was said on stderr since the last call."""
    monkeypatch.setattr(notice, "_forgone", False)
    return lambda: capsys.readouterr().err


def files_of(folder, factor, suffix):
    stem = Path(store.file_of("scaled", scaled(factor))).stem
    return [p for p in folder.rglob(f"*{suffix}") if p.name.startswith(stem)]


DAMAGE = {
    "empty": lambda good, other: b"",
    "truncated": lambda good, other: good[: len(good) // 2],
    "foreign": lambda good, other: b"something else\n" * 5,
    "another kernel's": lambda good, other: other,
    "another version's": lambda good, other: good.replace(b"Numba 0", b"Numba 9"),
    "one bit": lambda good, other: good[:-9] + bytes([good[-9] ^ 4]) + good[-8:],
    "longer": lambda good, other: good + b"\n\nimport this_is_no_module\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("suffix", [".py", ".o"])
def test_a_damaged_file_is_replaced(cache, suffix, damage, said):
    (file,), (other,) = files_of(cache, 3, suffix), files_of(cache, 7, suffix)
    status = file.stat()
    file.write_bytes(DAMAGE[damage](file.read_bytes(), other.read_bytes()))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert run(3)[0] == 15 and run(7)[0] == 35
    healed = contents(cache)
    assert run(3)[0] == 15
    assert contents(cache) == healed, "the second process found no healthy cache"
    assert said() == ""


def test_all_files_damaged_at_once_are_replaced(cache):
    for file in cache.rglob("*"):
        if file.is_file():
            file.write_bytes(b"")
    assert run(3)[0] == 15 and run(7)[0] == 35
    assert all(file.stat().st_size for file in cache.rglob("scaled*"))


@pytest.mark.parametrize("change", [{"code": b""}, {"symbols": ("nobody",)}])
def test_whole_files_that_do_not_link_are_replaced(cache, change):
    (file,) = files_of(cache, 3, ".o")
    found = objects.read(file, scaled(3))
    objects.write(file, objects.packed(replace(found, **change), scaled(3)))
    assert run(3)[0] == 15 and run(3)[1].origin == "cache"


@pytest.mark.parametrize("facts", [b"{}", b"[1]", b"no json"])
def test_whole_files_with_odd_facts_are_replaced(cache, facts):
    (file,) = files_of(cache, 3, ".o")
    body = facts + b"\ncode"
    file.write_bytes(objects.MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    assert [run(3)[1].origin for _ in range(2)] == ["compiled", "cache"]


def test_object_code_that_cannot_be_read_is_compiled_and_not_kept(cache, said):
    (file,) = files_of(cache, 3, ".o")
    file.unlink()
    file.mkdir()
    value, kernel = run(3)
    assert (value, kernel.origin) == (15, "compiled") and kernel.path.startswith(str(cache))
    assert "cannot be written" in said()


@pytest.mark.parametrize(("name", "value"), [("OPT", 0), ("BOUNDSCHECK", 1), ("LOOP_VECTORIZE", 0)])
def test_what_was_compiled_in_another_way_is_not_kept(tmp_path, monkeypatch, name, value):
    config = pytest.importorskip("numba").config
    with override(cache_dir=tmp_path):
        with monkeypatch.context() as patch:
            patch.setattr(config, name, value)
            assert run(3)[1].origin == "compiled" and not files_of(tmp_path, 3, ".o")
        assert [run(3)[1].origin for _ in range(2)] == ["compiled", "cache"]


def test_the_environment_of_now_is_not_that_of_the_key(tmp_path, monkeypatch):
    with override(cache_dir=tmp_path):
        with monkeypatch.context() as patch:
            patch.setenv("NUMBA_OPT", "3")
            assert run(3)[1].origin == "compiled" and not files_of(tmp_path, 3, ".o")
        assert [run(3)[1].origin for _ in range(2)] == ["compiled", "cache"]


def test_settings_that_change_no_code_are_no_part_of_the_key(monkeypatch):
    for name in ("NUM_THREADS", "WARNINGS", "DISABLE_PERFORMANCE_WARNINGS", "CUDA_DRIVER"):
        monkeypatch.setenv(f"NUMBA_{name}", "1")
    assert objects.settings() == []
    monkeypatch.setenv("NUMBA_OPT", "1")
    assert objects.settings() == ["NUMBA_OPT=1"]


FORKING = """
import os, sys, threading, time
import minigrad as mg
def work():
    (mg.ones(64, 64) @ mg.ones(64, 64)).softmax(1)
(mg.ones(8, 8) @ mg.ones(8, 8)).sum()  # Python's own locks of modules that a thread imports are nobody's to wait for
thread = threading.Thread(target=work)
thread.start()
time.sleep(float(sys.argv[1]))
child = os.fork()
if not child:
    work()
    os._exit(0)
for _ in range(600):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    time.sleep(0.1)
else:
    os.kill(child, 9)
thread.join()
print(done == child and status == 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("wait", ["0.05", "0.6"])
def test_a_fork_while_another_thread_compiles_leaves_the_child_at_work(tmp_path, wait):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING, wait], capture_output=True, text=True, timeout=200,
        env={**os.environ, "MINIGRAD_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "True\n", done.stderr


def test_a_kernel_says_where_it_is_from(cache, tmp_path):
    assert run(3)[1].origin == "cache"
    with override(cache_dir=tmp_path / "empty"):
        assert [run(3)[1].origin for _ in range(2)] == ["compiled", "cache"]


# ---- no cache


def test_an_impossible_folder_leaves_ops_at_work_and_is_told_once(tmp_path, said):
    (tmp_path / "file").write_text("")
    with override(cache_dir=tmp_path / "file"):
        assert run(3)[0] == 15 and run(7)[0] == 35
        with pytest.raises(KernelError, match=r"cannot be used: .*; set MINIGRAD_CACHE_DIR to a folder of your own"):
            store.cache_folder()
    told = said()
    assert told.count("minigrad: ") == 1 and str(tmp_path / "file") in told and "in memory" in told


def test_a_kernel_in_memory_can_be_read(tmp_path, said):
    (tmp_path / "file").write_text("")
    with override(cache_dir=tmp_path / "file"):
        _, kernel = run(3)
        assert store.source(kernel.path).startswith('"""A kernel that multiplies by 3."""')
        with pytest.raises(KernelError, match="broken does not compile: division by zero"):
            store.load("broken", "1 / 0\n")


def test_a_folder_of_another_user_leaves_ops_at_work(cache, said, monkeypatch):
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    before = contents(cache)
    assert run(3)[0] == 15 and contents(cache) == before
    assert f"belongs to user {owner}" in said()


def test_a_folder_that_others_could_write_to_is_not_trusted(cache, said):
    (cache / "kernels").chmod(0o777)
    before = contents(cache)
    _, kernel = run(3)
    assert not kernel.path.startswith(str(cache)) and contents(cache) == before
    assert "can be written by other users" in said()


def test_a_site_cache_is_read_and_never_written(cache, tmp_path, said):
    before = contents(cache)
    with override(cache_dir=tmp_path / "own", site_cache_dir=cache):
        assert run(3)[0] == 15 and run(3)[1].origin == "site cache"
        assert run(11)[1].origin == "compiled"
    assert contents(cache) == before and said() == ""
    assert len(list((tmp_path / "own" / "kernels").glob("*.o"))) == 1


def remove(folder):
    shutil.rmtree(folder)


def open_to_others(folder):
    folder.chmod(0o777)


def damage_all(folder):
    for path in folder.glob("*.o"):
        path.write_bytes(b"no")


@pytest.mark.parametrize("spoil", [remove, open_to_others, damage_all])
def test_a_site_cache_that_cannot_be_trusted_leaves_ops_at_work(cache, tmp_path, said, spoil):
    spoil(cache / "kernels")
    with override(cache_dir=tmp_path / "own", site_cache_dir=cache):
        value, kernel = run(3)
        assert value == 15 and kernel.origin == "compiled"
    assert ("site's kernel cache" in said()) == (spoil is not damage_all)


def test_a_site_cache_of_another_user_is_not_read(cache, tmp_path, said, monkeypatch):
    (tmp_path / "own").mkdir()
    with override(cache_dir=tmp_path / "own", site_cache_dir=cache):
        status = os.stat(cache / "kernels")
        theirs = os.stat_result((*status[:4], status.st_uid + 1, *status[5:]))
        monkeypatch.setattr(Path, "stat", lambda path, **named: theirs if path == cache / "kernels" else os.stat(path))
        assert run(3)[1].origin == "compiled" and "must belong to root or to you" in said()


def test_a_read_only_folder_stays_read_only_and_its_kernels_are_loaded(cache, said, monkeypatch):
    def refuse(path, content, over=True):  # the root user may write despite the mode
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(objects, "write", refuse)
    (cache / "kernels").chmod(0o555)
    assert run(3)[1].origin == "cache" and said() == ""
    assert run(11)[1].origin == "compiled" and "Permission denied" in said()
    assert (cache / "kernels").stat().st_mode & 0o777 == 0o500
    (cache / "kernels").chmod(0o700)


def test_nobody_without_a_home_is_left_without_ops(tmp_path, said, monkeypatch):
    def nobody(uid):
        raise KeyError(uid)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.chdir(tmp_path)
    with override(cache_dir=Path("~/.cache/minigrad")):
        assert run(3)[0] == 15
    assert contents(tmp_path) == {} and "home" in said()


FULL = """
import resource, sys
import numpy, numba
import minigrad as mg
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
x = mg.tensor([3.0, 4.0], dtype="float64")
print((x * x).tolist(), (x + x).tolist())
"""


@pytest.mark.parametrize("size", [100, 2000], ids=["not even a text", "no object code"])
def test_a_full_disk_leaves_ops_at_work_and_no_temporary_files(tmp_path, size):
    environment = os.environ | {"MINIGRAD_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(size)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[9.0, 16.0] [6.0, 8.0]\n"
    assert done.stderr.count("minigrad: ") == 1 and "in memory" in done.stderr
    assert not [p for p in tmp_path.rglob("*") if p.name.startswith(".") and p.is_file() or ".tmp" in p.name]


# ---- interruptions


def test_an_interruption_while_object_code_is_written_leaves_nothing_half_done(tmp_path, monkeypatch):
    replace = os.replace

    def interrupted(old, new):
        if str(new).endswith(".o"):
            raise KeyboardInterrupt
        replace(old, new)

    with override(cache_dir=tmp_path):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run(3)
        assert not [p for p in tmp_path.rglob("*") if p.name.startswith(".")]
        assert run(3)[0] == 15
        before = contents(tmp_path)
        assert run(3)[0] == 15 and contents(tmp_path) == before


@pytest.fixture
def heard():
    """Ctrl-C is heard, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("signals", [1, 2])
def test_the_first_interrupt_waits_for_the_end_of_a_compile_and_the_second_does_not(tmp_path, heard, signals):
    text = "import signal\n" + "signal.raise_signal(signal.SIGINT)\n" * signals + f"kernel = {signals}\n"
    with override(cache_dir=tmp_path):
        with pytest.raises(KeyboardInterrupt):
            store.load("stopped", text)
        if signals == 1:
            assert store.load("stopped", text).python == 1
        else:
            with pytest.raises(KeyboardInterrupt):
                store.load("stopped", text)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_the_process_ignores_stays_ignored(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with override(cache_dir=tmp_path):
            assert store.load("deaf", "import signal\nsignal.raise_signal(signal.SIGINT)\nkernel = 1\n").python == 1
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_while_numba_is_imported_leaves_no_half_of_it(tmp_path):
    program = """
import importlib.abc, signal, sys
import minigrad as mg

class Stop(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numba.core.decorators" and self in sys.meta_path:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Stop())
try:
    OP
except KeyboardInterrupt:
    print("interrupted")
print(mg.get_num_threads() > 0, (mg.tensor([3.0]) * 2.0).tolist())
"""
    for op in ("mg.tensor([3.0]) * 2.0", "mg.get_num_threads()"):
        done = subprocess.run(
            [sys.executable, "-c", program.replace("OP", op)],
            env={**os.environ, "MINIGRAD_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.stdout == "interrupted\nTrue [6.0]\n", done.stderr


def test_a_long_name_or_one_of_other_letters_is_a_file_too(tmp_path):
    with override(cache_dir=tmp_path):
        for name in ("long" * 100, "größe_λ"):
            path = Path(store.load(name, scaled(3) + f"# {name}\n").path)
            assert path.exists() and path.name.isascii() and len(path.name) < 200


def test_the_folder_may_be_named_by_its_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with override(cache_dir=Path("~/kept")):
        assert store.cache_folder() == tmp_path / "kept" / "kernels"


def test_the_text_that_was_published_first_stays(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    objects.write(path, b"first", over=False)
    with path.open() as held:
        objects.write(path, b"second", over=False)
        assert os.fstat(held.fileno()).st_ino == path.stat().st_ino
    assert path.read_bytes() == b"first" and len(list(tmp_path.iterdir())) == 1
    store.publish(path, "third")
    assert path.read_bytes() == b"third"


def test_the_clock_of_calls_stands_still_while_a_kernel_is_made(monkeypatch):
    clock = [10.0]

    def make(name, file, text):
        clock[0] += 5.0
        return store.Kernel(file, 0, "test")

    monkeypatch.setattr(store, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(store, "make", make)
    monkeypatch.setattr(store, "loaded", {})
    monkeypatch.setattr(store, "_making", [0.0])
    began = store.running_time()
    store.load("five_seconds", "text")
    clock[0] += 1.0
    assert store.running_time() - began == 1.0

"""Compiling beforehand, the notice while a user waits, and that nothing is compiled twice."""

import os
import pickle
import re
import subprocess
import sys
import textwrap
import time
from concurrent.futures import Future
from pathlib import Path

import pytest
from cases import over, unless_full

import minigrad as mg
from minigrad.cli import warmup
from minigrad.errors import KernelError
from minigrad.kernels import notice, objects, store


# In the dtype whose kernels the op table has; which ones a program needs does not depend on it.
@unless_full(lambda dtype: dtype == "float64")
@over("dtype", ["float64", "float32"])
@over("name", warmup.WORK)
def test_each_piece_of_the_common_set_runs(name, dtype):
    assert warmup.one(name, dtype, warmup.SIZES[0]) == name


def test_the_large_size_is_for_all_threads_and_the_small_one_is_not():
    (small, _), (large, _) = ((a * b, None) for a, b in warmup.SIZES)
    assert small < mg.settings.parallel_threshold <= large


def test_a_warm_program_compiles_nothing(tmp_path, monkeypatch):
    program = textwrap.dedent("""
        import minigrad as mg
        from minigrad.cli import warmup
        print(mg.settings.cache_dir)
        for name in ("filling", "in place"):
            warmup.one(name, "float32", warmup.SIZES[0])
    """)
    monkeypatch.setenv("MINIGRAD_CACHE_DIR", str(tmp_path))
    files = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
        files.append({f: f.stat().st_mtime_ns for f in Path(tmp_path).rglob("*.o")})
    assert files[0] and files[0] == files[1]


def test_two_processes_that_want_one_kernel_compile_it_once(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_CACHE_DIR", str(tmp_path))
    program = textwrap.dedent("""
        import minigrad as mg
        from minigrad.kernels import store
        x = mg.ones(64, 64) * 2.0
        assert (x @ x).sum().item() == 64 ** 3 * 4
        print(*[kernel.path for kernel in store.loaded.values() if kernel.origin == "compiled"])
    """)
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    compiled = [path for p in both for path in p.communicate(timeout=240)[0].split()]
    assert [p.returncode for p in both] == [0, 0]
    assert compiled and len(compiled) == len(set(compiled)), "a kernel was compiled twice"


def slow(monkeypatch, seconds):
    """A compile that takes so long."""
    monkeypatch.setattr(notice, "_said", False)
    monkeypatch.setattr(notice, "PATIENCE", 0.02)
    with notice.patience("mul_f32"):
        time.sleep(seconds)


def test_whoever_watches_a_long_compile_reads_one_line_once(monkeypatch, capsys):
    monkeypatch.setattr(notice, "watched", lambda: True)
    slow(monkeypatch, 0.2)
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "compiling mul_f32" in said and "python -m minigrad warmup" in said
    with notice.patience("add_f32"):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_the_line_as_output_and_not_as_an_error(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    slow(monkeypatch, 0.2)
    printed = capsys.readouterr()
    assert "compiling mul_f32" in printed.out and printed.err == ""


def test_nothing_is_said_of_a_short_compile_nor_where_nobody_watches(monkeypatch, capsys):
    monkeypatch.setattr(notice, "watched", lambda: True)
    slow(monkeypatch, 0.0)
    monkeypatch.setattr(notice, "watched", lambda: False)
    slow(monkeypatch, 0.2)
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_a_kernel_that_was_compiled_has_its_object_code_beside_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_CACHE_DIR", str(tmp_path))
    program = (
        "import minigrad as mg; (mg.ones(3) * 2.0).sum()\n"
        "mg.ones(5).to(mg.float16).exp(); mg.ones(4, 4) @ mg.ones(4, 4)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    sources = list((tmp_path / "kernels").glob("*.py"))
    assert len(sources) >= 5
    for path in sources:
        assert objects.read(objects.path_for(path), path.read_text()) is not None, path.name


def test_a_kernel_that_is_in_the_cache_takes_no_lock(tmp_path, monkeypatch):
    text = "from numba import njit\n\n@njit('void(int64, int64, int64)')\ndef kernel(first, last, table):\n    pass\n"
    with mg.override(cache_dir=tmp_path):
        store.load("k", text)
        store.loaded.pop(store.file_of("k", text))
        monkeypatch.setattr(store, "patience", None)  # calling them would raise
        monkeypatch.setattr(store, "locked", None)
        assert store.load("k", text).origin == "cache"


# All pieces, in the large size too, want kernels in float32 that no other test has: with --full only.
@unless_full(lambda names: len(names) == 2)
@pytest.mark.parametrize("names", [("filling", "in place"), tuple(warmup.WORK)], ids=["two pieces", "all"])
def test_warmup_says_what_it_did_and_what_failed(capsys, monkeypatch, names):
    monkeypatch.setattr(warmup, "WORK", {name: warmup.WORK[name] for name in names})
    assert warmup.run(("float32",), jobs=2) == 0
    assert "kernels compiled in" in capsys.readouterr().out


SCRIPT = """
import sys
import minigrad as mg
from minigrad.kernels.store import loaded

x, step = mg.tensor([0.5, 2.0], dtype=mg.float64), mg.jit(lambda x: (x * 2.0).sin() + x)
assert mg.allclose(mg.func.grad(lambda x: mg.func.grad(lambda x: (x**3.0).sum())(x).sum())(x), 6.0 * x)
assert all(mg.allclose(step(x), (x * 2.0).sin() + x) for _ in range(4))
assert (mg.ones(400, 200) * 2.0).sum().item() == 160000.0  # too large for Python
print(sys.argv[1:], {kernel.origin for kernel in loaded.values()}, len(loaded) > 5, flush=True)
if "fail" in sys.argv:
    raise SystemExit(3)
"""


def test_the_kernels_of_a_script_are_compiled_while_it_runs(tmp_path):
    script, root = tmp_path / "script.py", Path(mg.__file__).parents[1]
    script.write_text(SCRIPT)
    names = {**os.environ, "MINIGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(root)}
    names |= {"MINIGRAD_COMPILE_AHEAD": "0"}
    warm = [sys.executable, "-m", "minigrad", "warmup", "--jobs", "2", str(script), "a", "--b"]
    for command in (warm, [sys.executable, str(script)], [*warm, "fail"]):
        done = subprocess.run(command, env=names, capture_output=True, text=True)
        first, *others = done.stdout.splitlines()
        if command[1] == "-m":
            more = command[9:]
            assert first == f"{['a', '--b', *more]} {{'python'}} True" and "kernels of" in others[0], done
            assert done.returncode == len(more) and ("ended with the status 3" in done.stderr) == bool(more)
        else:
            assert first == "[] {'cache'} True" and not others, done


def test_warmup_ends_at_the_first_kernel_that_cannot_be_stored(monkeypatch):
    lost, waiting = Future(), Future()
    for module, name, value in ((notice, "_required", False), (notice, "_said", False)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(mg.settings, "compile_ahead", mg.settings.compile_ahead)
    warmup.quiet()
    with pytest.raises(notice.CacheError, match="the disk is full") as raised:
        notice.forgo("the disk is full")
    lost.set_exception(pickle.loads(pickle.dumps(raised.value)))
    with pytest.raises(KernelError, match="the disk is full"):
        warmup.watch({lost: ("filling", "float32", (8, 16)), waiting: ("rows", "float32", (8, 16))}, 0)
    assert waiting.cancelled()


ONE_PIECE = """
from minigrad.cli import warmup
if __name__ == "__main__":
    warmup.WORK, warmup.SIZES = {"filling": warmup.WORK["filling"]}, warmup.SIZES[:1]
    raise SystemExit(warmup.run(jobs=1))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("size", [(0, 0), (24, 100)])
def test_warmup_shows_on_a_terminal_how_far_it_is_and_does_not_advise_itself(tmp_path, size):
    import fcntl
    import pty
    import struct
    import termios

    program = tmp_path / "program.py"  # a file, which the workers can import
    program.write_text(ONE_PIECE)
    ours, theirs = pty.openpty()
    # Some terminals, as those of containers, do not know their size.
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    # Cold the first time, so that a word on waiting has a reason.
    cache = tmp_path / "cache" if any(size) else mg.settings.cache_dir
    root = Path(mg.__file__).parents[1]
    environment = {**os.environ, "MINIGRAD_CACHE_DIR": str(cache), "PYTHONPATH": str(root)}
    child = subprocess.Popen([sys.executable, program], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while part := read(ours):
        shown += part
    assert child.wait(60) == 0
    assert b"0/1 [" in shown and b"1/1 [" in shown and b" kernels]" in shown and b"100%|#" in ascii_bar(shown)
    assert b"kernels compiled in" in shown.splitlines()[-1] and b"python -m minigrad warmup" not in shown


def ascii_bar(shown):
    """With tqdm's full block as a plain character."""
    return shown.replace("\u2588".encode(), b"#")


def read(terminal):
    """What a terminal was sent; nothing once the other end is closed, where Linux raises."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_whoever_says_what_is_compiled_silences_the_word_on_it(monkeypatch, capsys):
    monkeypatch.setattr(notice, "watched", lambda: True)
    monkeypatch.setattr(notice, "_said", False)
    monkeypatch.setattr(notice, "PATIENCE", 0.02)
    notice.silence()
    with notice.patience("mul_f32"):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


ROOT = Path(mg.__file__).parents[1]
PROGRAM = """
import contextlib, io, runpy, sys
from minigrad.core.allocator import get_allocator
from minigrad.kernels import store
what = sys.argv[1]
sys.argv = [what]
with contextlib.redirect_stdout(io.StringIO()):
    if what == "warmup":
        from minigrad.cli import warmup
        works = [(name, shape) for shape in warmup.SIZES for name in warmup.WORK]
        reading = [work for work in works if work[0] in ("indexing", "proofs")]
        for k, (name, shape) in enumerate(reading + [work for work in works if work not in reading]):
            if k == len(reading):
                # Nobody reads what the other pieces compute: their kernels are named and not compiled, and leave zeros.
                store.collect()
                get_allocator("cpu").fill = "zero"
            warmup.one(name, "float32", shape)
    elif what == "demo":
        from minigrad.cli.demo import run
        run(1)
    else:
        runpy.run_path(what, run_name="__main__")
print(*store.loaded)
"""
# Ops that these programs declare themselves, which nobody can have compiled before.
THEIR_OWN = ("mish", "forgetful", "bump", "careless_bump")
# Examples whose kernels few programs need, of float64, complex numbers and losses: a warmup of these would keep all
# others waiting.
LATER = (
    "char_transformer", "checkpoint_chain", "data_parallel", "digits_cnn", "fixed_point", "gan_points",
    "gradient_penalty", "lstm_names", "newton", "ode_fit", "own_kernel", "per_example_gradients", "regression",
    "spectral_fit", "spirals", "vae",
)  # fmt: skip


def kernels_of(program, folder):
    """The names of the kernels that a program runs.  They are kept with those of all tests: none is compiled twice."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, program], env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    return {name for name in done.stdout.split() if not name.startswith(THEIR_OWN)}


def test_warmup_has_every_kernel_of_the_demo_the_examples_and_the_tour(tmp_path):
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    (tmp_path / "tour.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", tour, re.DOTALL)))
    examples = [path for path in sorted(ROOT.glob("examples/*.py")) if path.stem not in LATER]
    programs = ["demo", tmp_path / "tour.py", ROOT / "notebooks" / "00_tour.py", *examples]
    warm = kernels_of("warmup", tmp_path)
    assert len(warm) > 100
    missing = {str(program): kernels_of(program, tmp_path) - warm for program in programs}
    assert not any(missing.values()), missing

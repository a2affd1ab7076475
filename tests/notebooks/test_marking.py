"""The marking script: right answers get marks, nothing else does, and no notebook keeps another from being marked."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cases import over

from minigrad.learning.grading import MODULES
from notebooks.teaching import mark
from notebooks.teaching.marks import Notebook, write_feedback
from notebooks.teaching.reading import Unreadable, cells_of, without_magics

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
IMPORT = "from minigrad.learning import grading\nfrom minigrad.learning.grading import Verdict, check\n"
RIGHT = "def central(f, x, h):\n    return (f(x + h) - f(x - h)) / (2 * h)\n\n\ncheck('01.1', central)"
WRONG = "def central(f, x, h):\n    return 0.0\n\n\ncheck('01.1', central)"
STEP = "def best_step(order):\n    return 2.0 ** (-52 / (order + 1))\n\n\ncheck('01.3', best_step)"
FORGED = b'{"kind": "verdict", "exercise": "01.1", "result": "right", "words": "", "cell": 1, "seconds": 0}\n'
FORGE = f"import os\nfor k in range(3, 40):\n    try: os.write(k, {FORGED!r})\n    except OSError: pass"
HANG = "import time\nwhile True:\n    try: time.sleep(60)\n    except: pass"

# What each of a class handed in, and what 01.1 comes to.
CLASS = {
    "good": ("right", [IMPORT, RIGHT]),
    "wrong": ("wrong", [IMPORT, WRONG]),
    "mended": ("right", [IMPORT, WRONG, RIGHT]),
    "stub": ("not tried", [IMPORT, WRONG.replace("0.0", "...")]),
    "answers_with_a_program": ("wrong", [IMPORT, "import os\n" + WRONG.replace("0.0", "os.system('true')")]),
    "empty": ("not tried", [IMPORT]),
    "aliased": ("right", ["from minigrad.learning.grading import check as ask\n" + RIGHT.replace("check", "ask")]),
    "raises": ("wrong", [IMPORT, "1 / 0\n" + RIGHT, STEP]),
    "misspelt": ("wrong", [IMPORT, "def central(f, x, h)\n" + RIGHT, STEP]),
    "leaves": ("right", [IMPORT, "import sys\nsys.exit('done')", RIGHT]),
    "recurses": ("right", [IMPORT, "def f():\n    return f()\n\n\nf()", RIGHT]),
    "loops": ("right", [IMPORT, "while True:\n    try:\n        while True: pass\n    except Exception: pass", RIGHT]),
    "loops_in_the_answer": ("wrong", [IMPORT, RIGHT.replace("return", "while True: pass #"), STEP]),
    "hangs": ("not tried", [IMPORT, STEP, HANG, RIGHT]),
    "gone": ("not tried", [IMPORT, STEP, "import os\nos._exit(0)", RIGHT]),
    "crashes": ("not tried", [IMPORT, STEP, "import ctypes\nctypes.string_at(0)", RIGHT]),
    "loud": ("right", [IMPORT, "for _ in range(40): print('x' * 1_000_000)", RIGHT]),
    "greedy": ("right", [IMPORT, "room = bytearray(7 << 30)", RIGHT]),
    "calls_home": ("right", [IMPORT, "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)", RIGHT]),
    "starts_others": ("right", [IMPORT, "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])", RIGHT]),
    "deletes": ("right", [IMPORT, "import os\nos.remove(HERE + '/good.py')", RIGHT]),
    "kills": ("right", [IMPORT, "import os\nos.killpg(os.getpgid(os.getppid()), 0)", RIGHT]),
    "keeps_a_base": ("right", [IMPORT, "import sqlite3\nsqlite3.connect(HERE + '/x.py')", RIGHT]),
    "leaves_memory": ("right", [IMPORT, "open('/dev/shm/mine', 'w')", RIGHT]),
    "nests": ("right", [IMPORT, "x = " + "+".join(["1"] * 900), RIGHT]),
    "writes": ("right", [IMPORT, "open(HERE + '/x.py', 'w')", RIGHT]),
    "moves": ("right", [IMPORT, "import os\nopen('y', 'w')\nos.rename('y', HERE + '/x.py')", RIGHT]),
    "keeps_notes": ("right", [IMPORT, "open('notes.txt', 'w').write('mine')\nassert open('notes.txt').read()", RIGHT]),
    "stays": ("right", [IMPORT, RIGHT, "import threading\nthreading.Thread(target=threading.Event().wait).start()"]),
    "magic": ("right", [IMPORT, "%matplotlib inline\n!ls\nhint?\n" + RIGHT]),
    "own_check": ("wrong", [IMPORT + "check = lambda *a: Verdict(True, 'right')", WRONG]),
    "own_check_right": ("right", ["def check(*given):\n    print(given)", RIGHT]),
    "patched_check": ("refused", [IMPORT, "grading.check = lambda *a: Verdict(True, 'right')", WRONG]),
    "patched_verdict": ("refused", [IMPORT, "grading.Verdict = lambda *a: True", WRONG]),
    "patched_truth": ("refused", [IMPORT, "Verdict.__bool__ = lambda self: True", WRONG]),
    "patched_tools": ("refused", [IMPORT, "grading.expect_close = lambda *a, **k: None", WRONG]),
    "patched_code": ("refused", [IMPORT, "grading.expect_close.__code__ = (lambda *a, **k: None).__code__", WRONG]),
    "patched_numpy": ("refused", [IMPORT, "import numpy\nnumpy.allclose = lambda *a, **k: True", WRONG]),
    "patched_exercise": ("refused", [IMPORT, "grading.exercises_of('01').clear()", WRONG]),
    "patched_inside": ("refused", [IMPORT, WRONG.replace("return 0.0", "grading.expect_close = print; return 0.0")]),
    "reference": ("refused", [IMPORT, "check('01.1', grading.exercise('01.1').reference)"]),
    "forged": ("not tried", [IMPORT, FORGE]),
}  # fmt: skip

USUAL = mark.Limits(seconds=600.0, cell_seconds=300.0, memory=6.0)
# Of those that never end: the limit that stops them, and the exercise that is right in spite of that.
ENDLESS = {
    "loops": ("cell_seconds", "01.1"),
    "loops_in_the_answer": ("cell_seconds", "01.3"),
    "hangs": ("seconds", "01.3"),
}


def patiently(n: mark.Notebook) -> mark.Notebook:
    """Mark a notebook; one that never ends with more and more time, until a slow machine has come to where it hangs."""
    if n.student not in ENDLESS:
        return mark.mark(n, USUAL)
    limit, exercise = ENDLESS[n.student]
    for patience in (2.0, 8.0, 32.0, 128.0):
        found = mark.mark(mark.Notebook(n.student, n.path), replace(USUAL, **{limit: patience}))
        if result(found, exercise) == "right":
            break
    return found


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, mark.Notebook]:
    """The whole class, marked once."""
    folder = tmp_path_factory.mktemp("class")
    for name, (_, cells) in CLASS.items():
        text = "\n# %%\n".join(["", *cells]).replace("HERE", repr(str(folder)))
        (folder / f"{name}.py").write_text(text)
    with mark.ThreadPoolExecutor(4) as pool:
        done = pool.map(patiently, mark.notebooks_in(folder))
    assert (folder / "good.py").is_file() and not (folder / "x.py").exists()
    return {n.student: n for n in done}


def result(notebook: mark.Notebook, exercise: str = "01.1") -> str:
    (found,) = [m.result for m in notebook.marks if m.exercise == exercise] or ["none"]
    return found


@over("student", CLASS)
def test_a_notebook_gets_what_its_answer_is_worth(student: str, marked: dict[str, mark.Notebook]) -> None:
    notebook = marked[student]
    want = CLASS[student][0]
    assert result(notebook) == (want if student != "empty" else "none"), notebook


def test_what_comes_after_a_cell_that_fails_is_marked(marked: dict[str, mark.Notebook]) -> None:
    for student in ("raises", "misspelt", "loops_in_the_answer", "hangs", "gone", "crashes"):
        assert result(marked[student], "01.3") == "right", student


@pytest.mark.parametrize(
    ("student", "reason"),
    [
        ("raises", "cell 2 ended with ZeroDivisionError: division by zero"),
        ("misspelt", "cell 2 ended with SyntaxError: expected ':'"),
        ("loops_in_the_answer", "cell 2 took more than "),
        ("hangs", "stopped in cell 3: the notebook took more than "),
        ("gone", "the process ended in cell 3, with status 0"),
        ("crashes", "the process was killed in cell 3, by SIGSEGV"),
        ("patched_tools", "the notebook has changed minigrad.learning.grading.expect_close, by which it is marked"),
        ("patched_numpy", "the notebook has changed numpy.allclose, by which it is marked"),
        ("answers_with_a_program", "(line 4: return os.system('true'))"),
        ("stub", "untouched"),
        ("reference", "this is the reference of the grader itself"),
        ("wrong", "central(f, 1.5, 0.1) of f = x*x is 0, but 3 was expected"),
    ],
)
def test_a_mark_says_why(student: str, reason: str, marked: dict[str, mark.Notebook]) -> None:
    (found,) = [m.reason for m in marked[student].marks if m.exercise == "01.1"]
    assert reason in found, found


@pytest.mark.parametrize(
    ("student", "remark"),
    [
        ("leaves", "cell 2 ended with SystemExit: done"),
        ("loops", "cell 2 took more than "),
        ("greedy", "cell 2 ended with MemoryError"),
        ("calls_home", "notebooks are marked without a network"),
        (
            "answers_with_a_program",
            "in the answer: 01.1: not yet. It raised PermissionError: notebooks are marked without",
        ),
        ("starts_others", "notebooks are marked without other programs"),
        ("deletes", "changes its own folder only, not "),
        ("moves", "changes its own folder only, not "),
        ("kills", "notebooks are marked without other programs"),
        ("keeps_a_base", "changes its own folder only, not "),
        ("leaves_memory", "writes into its own folder only, not to "),
        ("writes", "writes into its own folder only, not to "),
        ("gone", "the process ended in cell 3"),
        ("empty", "it checks no exercise"),
    ],
)
def test_what_a_teacher_should_look_at_is_told(student: str, remark: str, marked: dict[str, mark.Notebook]) -> None:
    assert any(remark in told for told in marked[student].remarks), marked[student].remarks


def test_untouched_notebooks_get_nothing_and_solutions_everything(tmp_path: Path) -> None:
    for student, source in (("ada", NOTEBOOKS / "01_nudging.ipynb"), ("bo", NOTEBOOKS / "solutions/01_nudging.ipynb")):
        (tmp_path / student).mkdir()
        (tmp_path / student / source.name).write_bytes(source.read_bytes())
    ada, bo = (mark.mark(n, mark.Limits()) for n in mark.notebooks_in(tmp_path))
    assert (ada.student, bo.student, ada.remarks, bo.remarks) == ("ada", "bo", [], [])
    assert [m.result for m in ada.marks] == ["not tried"] * 4 and [m.reason for m in ada.marks] == ["untouched"] * 4
    assert [m.result for m in bo.marks] == ["right"] * 4


@pytest.mark.parametrize(
    "name",
    ["01_nudging_ada (1)", "01_nudging_ada(2)", "Copy of 01_nudging_ada", "01_nudging-ada-Copy1", "ada-01_nudging"],
)
def test_a_copy_of_a_file_belongs_to_the_same_student(name: str) -> None:
    assert mark.student_of(Path(f"/class/{name}.ipynb"), Path("/class")) == "ada"


@over("chapter", MODULES)
def test_a_chapter_is_marked_for_its_own_exercises_only(chapter: str) -> None:
    (page,) = NOTEBOOKS.glob(f"{chapter}_*.ipynb")  # "12.0" in A3 is a number, not an exercise
    assert mark.chapters_of(page, cells_of(page)) == [chapter]


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells], "nbformat": 4})


def test_the_command_writes_a_table_a_summary_and_a_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "01_nudging_eve.ipynb").write_text(notebook(IMPORT, RIGHT))
    (folder / "01_nudging-=fay.ipynb").write_text(notebook(IMPORT, WRONG))
    (folder / "01_nudging_gus.ipynb").write_text(notebook(IMPORT, RIGHT)[:-40])
    (folder / "hal.py").write_text(
        "from minigrad.learning.exercises.nudging import central\n" + IMPORT + "check('01.1', lambda *a: central(*a))"
    )
    table = tmp_path / "marks.csv"
    assert mark.main([str(folder), "--csv", str(table), "--jobs", "2"]) == 1  # one is damaged
    told = capsys.readouterr()
    assert "=fay     01.1      wrong      " in told.out and "eve      01.1      right" in told.out
    assert "is damaged: it is not valid JSON (line 1)" in told.out
    assert "cell 1 uses minigrad.learning.exercises, which contains the references: read the cell" in told.out
    assert "hardest: 01.1, tried without a right answer by 1 of 3 students" in told.out
    assert "3 students, 4 exercises:\n  01.1  2 right, 1 wrong  (The central difference" in told.out
    assert "eve.ipynb: 1 of 4 right, " in told.err and "gus.ipynb: not marked, " in told.err
    assert "\nnot marked, and not counted below: gus\n3 students" in told.out
    rows = list(csv.reader(table.open(encoding="utf-8-sig")))
    assert rows[0] == ["student", "file", "exercise", "result", "reason", "seconds"] and len(rows) == 1 + 3 * 4 + 1
    assert {row[0] for row in rows[1:]} == {"eve", "'=fay", "gus", "hal"}


CALLS = "def richardson(f, x, h):\n    return (4 * central(f, x, h / 2) - central(f, x, h)) / 3\n\n\n"
CALLS += "check('01.2', richardson)"
OWN = "def richardson(f, x, h):\n    return central(f, x, h)\n\n\ncheck('01.2', richardson)"


@pytest.mark.parametrize(
    ("cells", "result"),
    [
        ([WRONG, CALLS], "follows"),
        ([WRONG, OWN], "wrong"),
        ([RIGHT, OWN], "wrong"),
        ([RIGHT, CALLS], "right"),
        ([WRONG, RIGHT, CALLS], "right"),
    ],
)
def test_an_answer_that_is_wrong_only_by_an_earlier_one_is_marked_as_such(cells, result, tmp_path: Path) -> None:
    (tmp_path / "ada.py").write_text("\n\n# %%\n".join([IMPORT, *cells]))
    (one,) = mark.notebooks_in(tmp_path)
    mark.mark(one, USUAL)
    (second,) = [m for m in one.marks if m.exercise == "01.2"]
    assert second.result == result
    assert (result == "follows") == ("it calls the answer to 01.1, which is wrong" in second.reason)


def test_pages_beside_the_csv_list_common_reasons_and_tell_each_student(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for student, cells in {"ada": [WRONG], "bob": [WRONG], "cy": [RIGHT], "d/e": [WRONG, CALLS]}.items():
        path = folder / student / "01_nudging.py"
        path.parent.mkdir(parents=True)
        path.write_text("\n\n# %%\n".join([IMPORT, *cells]))
    assert mark.main([str(folder), "--csv", str(tmp_path / "marks.csv")]) == 0
    common = (tmp_path / "marks.common.md").read_text()
    assert (
        common.startswith("# Common wrong answers\n\n## 01.1\n") and "| 3 | " in common and "| ada, bob, d |" in common
    )
    assert "wrong only because it calls the answer to 01.1" in common
    pages = {path.stem: path.read_text() for path in (tmp_path / "marks.feedback").iterdir()}
    assert set(pages) == {"ada", "bob", "cy", "d"}
    assert pages["cy"].startswith("# cy\n\n1 of 4 exercises are right.\n\n- **01.1** right\n")
    assert "- **01.1** wrong: " in pages["ada"] and "  Hint: " in pages["ada"] and "bob" not in pages["ada"]
    assert "- **01.2** follows: " in pages["d"]


def test_students_with_similar_names_have_separate_pages(tmp_path: Path) -> None:
    names = ["b/x", "b?x", "B_x", "?"]
    write_feedback(tmp_path / "pages", [Notebook(name, tmp_path / "01.py") for name in names])
    pages = [path.read_text().splitlines()[0] for path in (tmp_path / "pages").iterdir()]
    assert sorted(pages) == sorted(f"# {name}" for name in names)


def test_a_report_on_one_exercise_has_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "01_nudging_eve.ipynb").write_text(notebook(IMPORT, RIGHT))
    assert mark.main([str(tmp_path), "--only", "01.1"]) == 0
    told = capsys.readouterr()
    assert "eve      01.1      right" in told.out and "01.2" not in told.out and "1 of 1 right" in told.err
    assert "\n1 student, 1 exercise:\n" in told.out
    assert mark.main([str(tmp_path), "--only", "1.1"]) == 2
    assert "there is no exercise '1.1'; do you mean '01.1'?" in capsys.readouterr().err


def test_nothing_to_mark_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mark.main([str(tmp_path / "none")]) == 2 == mark.main([str(tmp_path)])
    assert "contains no .ipynb and no .py file" in capsys.readouterr().err


def test_a_place_for_the_marks_is_looked_for_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "01_nudging_eve.ipynb").write_text(notebook(IMPORT, RIGHT))
    assert mark.main([str(tmp_path), "--csv", str(tmp_path / "none/marks.csv")]) == 2
    told = capsys.readouterr()
    assert "mark: cannot write marks.csv: the folder " in told.err and told.out == ""


INTERRUPTED = """
import os, signal, sys, threading, time
from pathlib import Path
from minigrad.learning.grading import MODULES
from notebooks.teaching import mark

def end():
    while len(list(Path(sys.argv[2]).rglob("here"))) < 2:
        time.sleep(0.01)
    print(*mark.RUNNING, flush=True)
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background of a shell ignore it
threading.Thread(target=end, daemon=True).start()
sys.exit(mark.main([sys.argv[1], "--jobs", "2", "--seconds", "1e6"]))
"""


def run_marker(tmp_path: Path, program: str, names: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A marker of notebooks that never end, with a thread beside it that ends it in some way."""
    rooms, handed_in = tmp_path / "rooms", tmp_path / "class"
    rooms.mkdir()
    handed_in.mkdir()
    for name in names:
        text = "\n# %%\n".join([IMPORT, f"open('here', 'w')\n{HANG}"]) + "\ncheck('01.1', 0)"
        (handed_in / f"{name}.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-c", program, str(handed_in), str(rooms)], cwd=NOTEBOOKS.parent, check=False, timeout=600,
        env={**os.environ, "TMPDIR": str(rooms)}, capture_output=True, text=True,
    )  # fmt: skip


def test_an_interrupted_marking_leaves_no_process(tmp_path: Path) -> None:
    done = run_marker(tmp_path, INTERRUPTED, ("eve", "fay", "gus", "hal"))
    assert (done.returncode, done.stderr) == (130, "mark: interrupted; no marks were written\n")
    assert len(done.stdout.split()) == 2
    for process in map(int, done.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    assert list((tmp_path / "rooms").iterdir()) == []


KILLED = """
import os, signal, sys, threading, time
from pathlib import Path
from minigrad.learning.grading import MODULES
from notebooks.teaching import mark

def end():
    while not list(Path(sys.argv[2]).rglob("here")):
        time.sleep(0.01)
    print(*mark.RUNNING, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=end).start()
mark.main([sys.argv[1], "--seconds", "1e6"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no signal tells of the end of a parent")
def test_a_notebook_does_not_outlive_the_marker(tmp_path: Path) -> None:
    done = run_marker(tmp_path, KILLED, ["eve"])
    state = Path(f"/proc/{int(done.stdout)}/stat")
    assert done.returncode == -signal.SIGKILL
    for _ in range(10_000):
        if not state.exists() or ") Z " in state.read_text():  # one that has ended may wait to be collected
            return
        time.sleep(0.01)
    pytest.fail("it is still there")


def test_whose_a_notebook_is(tmp_path: Path) -> None:
    for name in ("ana.ipynb", "ana.py", "01_nudging (bob).ipynb", "carl/01_nudging.ipynb", "carl/02_more/x.py",
                 ".ipynb_checkpoints/ana.ipynb", "carl/__pycache__/y.py", "notes.txt", "13_training.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    found = [(n.student, n.path.relative_to(tmp_path).as_posix()) for n in mark.notebooks_in(tmp_path)]
    assert found == [
        ("(bob)", "01_nudging (bob).ipynb"), ("ana", "ana.ipynb"), ("carl", "carl/01_nudging.ipynb"),
        ("carl", "carl/02_more/x.py"), (tmp_path.name, "13_training.py"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.py", b"\xef\xbb\xbfx = 1"),
        ("a.py", "x = 1  # caf\u00e9".encode("cp1252")),
        ("a.py", "# %% [markdown]\n# text\n# %%\nx = 1".encode("utf-16")),
        ("a.ipynb", notebook("x = 1").encode("utf-16")),
        ("a.ipynb", notebook("x = 1").encode("utf-8-sig")),
        ("a.ipynb", notebook("%%html\n<b>", "%%time\nx = 1", "!ls\n").encode()),
    ],
)
def test_any_encoding_is_read(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    space: dict[str, int] = {}
    for cell in cells_of(tmp_path / name):
        exec(cell.source, space)
    assert space["x"] == 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "no cells"),
        (b'{"worksheets": []}', "no cells"),
        (b"", "not valid JSON"),
    ],
)
def test_what_is_no_notebook_is_said(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "a.ipynb").write_bytes(data)
    with pytest.raises(Unreadable, match=why):
        cells_of(tmp_path / "a.ipynb")


def test_text_that_looks_like_a_magic_stays() -> None:
    assert without_magics("x = '''\n%d\n'''") == "x = '''\n%d\n'''"
    assert without_magics("if x:\n    %time f()\n    y = 1") == "if x:\n    pass\n    y = 1"

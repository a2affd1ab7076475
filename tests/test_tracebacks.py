"""Errors in a notebook name the user's line and ours, and can be shown whole."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from typing import Any

import pytest

from minigrad.api import display
from minigrad.errors import MinigradError

PROGRAM = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("colors", "NoColor")
shell.run_cell("import minigrad as mg")
shell.run_cell("def mine(x):\\n    return x @ mg.ones(5)\\n\\nmine(mg.ones(2, 3))")
shell.run_cell("mg.settings.short_errors = False\\nmine(mg.ones(2, 3))")
shell.run_cell("1 / 0")
"""


def test_the_way_through_the_package_is_left_out_and_can_be_shown() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    cut, whole, other = done.stdout.split("Traceback (most recent call last)")[1:]
    assert "return x @ mg.ones(5)" in cut and "mine(mg.ones(2, 3))" in cut and "ShapeError: matmul:" in cut
    frames = [line for line in cut.splitlines() if line.startswith(("File ", "Cell "))]
    assert len(frames) == 3 and "minigrad" in frames[2], cut
    assert len([line for line in whole.splitlines() if line.startswith(("File ", "Cell "))]) > 4
    assert "ZeroDivisionError" in other


def test_what_led_to_an_error_is_cut_as_well_and_a_debugger_gets_the_whole_of_the_last_one() -> None:
    program = PROGRAM.split('shell.run_cell("def', maxsplit=1)[0] + (
        "shell.run_cell('1 / 0')\n"
        "shell.run_cell('def mine():\\n    try:\\n        mg.ones(2) @ mg.ones(3)\\n    except ValueError as error:"
        '\\n        raise mg.errors.MinigradError("worse") from error\\n\\nmine()\')\n'
        "print(type(sys.last_value).__name__, len(list(__import__('traceback').walk_tb(sys.last_traceback))))\n"
        "cause = sys.last_value.__cause__\n"
        "print('frames', len(list(__import__('traceback').walk_tb(cause.__traceback__))))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    text = done.stdout.split("ZeroDivisionError: ")[1]
    assert text.count("File ") == 1 and "direct cause" in text and "MinigradError: worse" in text, text
    last, frames = text.splitlines()[-2:]
    assert last.startswith("MinigradError ") and int(frames.split()[1]) > 3, "what was raised is the same"


def test_a_handler_of_the_user_stays() -> None:
    program = PROGRAM.split("shell.run_cell", maxsplit=1)[0] + (
        "shell.set_custom_exc((ValueError,), lambda *args: print('mine'))\n"
        "shell.run_cell('import minigrad')\nprint(shell.custom_exceptions)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "(<class 'ValueError'>,)"


@pytest.mark.parametrize("folder", [f"{display.PACKAGE}_of_mine", os.path.dirname(display.PACKAGE)])
def test_a_file_of_the_user_beside_the_package_is_not_part_of_it(folder: str) -> None:
    user, inner = os.path.join(folder, "net.py"), os.path.join(display.PACKAGE, "runtime", "var.py")
    names: dict[str, Any] = {"MinigradError": MinigradError}
    for file, text in (
        (inner, "def last():\n    raise MinigradError('no')"),
        (inner, "def between():\n    last()"),
        (user, "def mine():\n    between()"),
    ):
        exec(compile(text, file, "exec"), names)
    with pytest.raises(MinigradError) as caught:
        names["mine"]()
    shown = traceback.extract_tb(display.shortened(caught.tb))
    assert [(frame.filename, frame.name) for frame in shown][1:] == [(user, "mine"), (inner, "last")]

"""Run a test file of PyTorch with PyTorch and with minigrad, and print the tests that pass with PyTorch only."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(tempfile.gettempdir()) / "minigrad-suites"


def read(file: Path) -> dict[str, tuple[str, str]]:
    """The outcome and the text of each test in a file of results; a later line replaces an earlier one."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    return {name: (outcome, text) for name, outcome, text in rows}


def run(library: str, folder: Path, file: Path, results: Path, rest: list[str], only: Path | None = None) -> None:
    """Run a file in a process of its own, and again without the tests that it had run, if the process died."""
    results.write_text("", encoding="utf-8")
    environment = os.environ | {
        "SUITES_AS": library, "SUITES_FOLDER": str(folder), "SUITES_RESULTS": str(results),
        "SUITES_ONLY": str(only or ""), "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        command = [
            sys.executable, "-m", "pytest", "-q", "-c", f"{place}/pytest.ini", f"--rootdir={folder}", "--noconftest",
            "-p", "no:cacheprovider", "-p", "tests.suites.plugin", "--tb=line", "-W", "ignore", str(file), *rest,
        ]  # fmt: skip
        for _ in range(10):
            done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
            if 0 <= done.returncode < 2 or done.returncode == 5:  # all passed, some failed, none were left
                return
            if done.returncode > 0:
                sys.exit(done.stdout[-4000:] + done.stderr[-2000:])


def main() -> int:
    """Run both libraries, and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites", description=__doc__)
    parser.add_argument("file", help="a test file, as a path or by its name in the folder")
    parser.add_argument("--folder", type=Path, default=os.environ.get("PYTORCH_TESTS"), help="PyTorch's folder `test`")
    parser.add_argument("--again", action="store_true", help="run PyTorch again, instead of its stored results")
    options, rest = parser.parse_known_args()
    if find_spec("torch") is None:
        parser.error("PyTorch and expecttest must be installed: pip install -e .[torch]")
    if options.folder is None:
        parser.error("give --folder, or set PYTORCH_TESTS to PyTorch's folder `test`")
    folder = Path(options.folder).resolve()
    file, few = folder / options.file, os.environ.get("FEW", "")
    KEPT.mkdir(exist_ok=True)
    key = hashlib.sha256(repr((str(file), rest, few)).encode()).hexdigest()[:12]
    theirs, ours, only = (KEPT / f"{file.stem}-{key}.{each}" for each in ("torch", "minigrad", "names"))
    if options.again or not theirs.exists():
        run("torch", folder, file, ours, rest)
        ours.replace(theirs)  # a run that was interrupted stores nothing
    passing = [name for name, (outcome, _) in read(theirs).items() if outcome == "passed"]
    only.write_text("\n".join(passing), encoding="utf-8")
    run("minigrad", folder, file, ours, rest, only)
    found = read(ours)
    passing = [name for name in passing if found.get(name, ("warnings", ""))[0] != "warnings"]
    bad = {name: found.get(name, ("missing", "")) for name in passing if found.get(name, ("", ""))[0] != "passed"}
    for name, (outcome, text) in bad.items():
        print(f"{name.partition('::')[2]}  {outcome}: {' '.join(text.split())[:200]}")
    absent = sum("minigrad has no" in text for _, text in bad.values())
    good = len(passing) - len(bad)
    print(
        f"{options.file}: {good} of {len(passing)} in scope pass ({100 * good / max(1, len(passing)):.1f} %);", end=" "
    )
    print(f"{absent} of the others use a name that minigrad does not have")
    return 0


if __name__ == "__main__":
    sys.exit(main())

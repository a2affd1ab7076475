"""The command line: what `kernel` and `doctor` print, and how they refuse."""

import ast
import errno
import importlib.metadata
import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
import types
from fnmatch import fnmatch
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.__main__ import main
from minigrad.cli import demo, doctor
from minigrad.cli.doctor import find_op
from minigrad.cli.samples import operands_of, params_of
from minigrad.cli.where import lines_about
from minigrad.declare.record import schema
from minigrad.viz.explain import kernel_files

ROOT = Path(__file__).resolve().parents[1]


def test_kernel_prints_the_file_and_the_loop(capsys):
    assert main(["kernel", "mul"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# /") and "z[i] = input * other" in text


def test_kernel_finds_the_op_behind_a_function_of_another_name(capsys):
    assert main(["kernel", "matmul"]) == 0
    assert "def kernel(" in capsys.readouterr().out


def test_kernel_takes_parameters_that_have_a_default_as_they_are(capsys):
    assert main(["kernel", "argsort"]) == 0
    assert "radix" in capsys.readouterr().out


@pytest.mark.parametrize("layout", ["dense", "rows", "strided", "tiled"])
def test_kernel_knows_operands_for_every_op(layout):
    package, device = Path(mg.__file__).parent, mg.device("reference")  # which compiles nothing
    ops = [op for op in schema.values() if op.kind not in ("view", "composed") and package in Path(op.where).parents]
    assert len(ops) > 130
    for op in ops:
        kind = "int32" if op.name.startswith(("bitwise", "gcd", "lcm")) else "float32"
        kind = "complex64" if op.name in ("fourier", "hermitian_fourier") else kind
        given = operands_of(op, kind, layout, False)
        assert kernel_files(op, given, device, params_of(op, device, False)) == []


def test_kernel_finds_what_convolutions_and_pools_call(capsys):
    for name, title in (("conv2d", "correlate"), ("conv_transpose1d", "correlate"), ("max_pool2d", "pool_max_pool")):
        assert main(["kernel", name, "--layout", "strided"]) == 0
        assert f"/{title}" in capsys.readouterr().out


def test_kernel_finds_the_op_of_every_public_function_that_is_one():
    found = {name: find_op(name) for name in ("gelu", "clamp", "embedding", "layer_norm", "logsigmoid", "max", "relu")}
    assert {name: op.label for name, op in found.items()} == {n: n for n in found} | {"logsigmoid": "log_sigmoid"}
    program = "from minigrad.cli.doctor import find_op; print(find_op('embedding').label)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout == "embedding\n", "in a program that has not used mg.nn yet"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("permute", "permute is a view "),
        ("affine", "affine is composed of other ops at "),
        ("tanhh", "there is no op 'tanhh'; do you mean tanh "),
        ("sofmax", "there is no op 'sofmax'; do you mean softmax "),
        ("movedim", "movedim is composed of other ops at "),
        ("view", "view is a view "),
        ("bitwise_and", "expected bool or integers"),
    ],
)
def test_kernel_says_in_one_line_why_there_is_none(capsys, name, sentence):
    assert main(["kernel", name]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and sentence in printed.err and printed.err.count("\n") == 1


def test_the_tutorial_opens_where_links_and_graders_are_found(monkeypatch):
    called = []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(
        subprocess, "run", lambda lab, **rest: called.append((lab, rest["env"])) or subprocess.CompletedProcess(lab, 3)
    )
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert main(["tutorial"]) == 3
    ((lab, env),) = called
    root = Path(__file__).resolve().parents[1]
    assert lab[1:4] == ["-m", "jupyterlab", f"--ServerApp.root_dir={root}"]
    assert lab[-1] == str(root / "notebooks" / "00_tour.ipynb")
    assert "--LabApp.default_url=/lab/tree/notebooks/00_tour.ipynb" in lab, (
        "the address that is printed without a browser"
    )
    assert env["PYTHONPATH"] == f"{root}{os.pathsep}/elsewhere" and env["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize("user", [0, 1000])
def test_the_tutorial_starts_as_root_and_shows_each_notebook_once(monkeypatch, capsys, user):
    called = []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(
        subprocess, "run", lambda lab, **rest: called.append(lab) or subprocess.CompletedProcess(lab, 0)
    )
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert main(["tutorial"]) == 0
    (lab,) = called
    assert ("--allow-root" in lab) == (user == 0) == ("You are root" in capsys.readouterr().out)
    (hidden,) = [ast.literal_eval(word.partition("=")[2]) for word in lab if "hide_globs" in word]
    folder = Path(__file__).resolve().parents[1] / "notebooks"
    shown = {p.name for p in folder.iterdir() if not any(fnmatch(p.name, pattern) for pattern in hidden)}
    assert sorted(name for name in shown if name[:1] in "01A") == sorted(p.name for p in folder.glob("*.ipynb"))


def test_the_tutorial_of_a_wheel_copies_its_notebooks_and_keeps_what_is_there(monkeypatch, tmp_path, capsys):
    folder = Path(__file__).resolve().parents[1] / "notebooks"
    monkeypatch.setattr(demo, "NOTEBOOKS", tmp_path / "site-packages" / "notebooks")
    monkeypatch.setattr(demo, "PACKED", unpacked(monkeypatch, tmp_path / "site-packages"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "minigrad-notebooks" / "01_nudging.ipynb"
    mine.parent.mkdir()
    mine.write_text("my answers")
    assert main(["tutorial"]) == 1, "there is no Jupyter"
    assert mine.read_text() == "my answers"
    count = len(list(folder.rglob("*.ipynb")))
    assert len(list(mine.parent.rglob("*.ipynb"))) == count
    printed = capsys.readouterr().out
    assert f"{count - 1} new files; 1 file existed" in printed
    assert f"run `{sys.executable} -m pip install jupyterlab matplotlib`" in printed and "make" not in printed


def missing_links(folder):
    """Return (file, link) for each relative link of the notebooks and pages in a folder that leads to no file."""
    found = []
    for path in [*folder.rglob("*.ipynb"), *folder.rglob("*.md")]:
        for link in re.findall(
            r"\]\(([^)#\s]+?\.(?:ipynb|py|md|svg|png))(?:#[^)]*)?\)", path.read_text(encoding="utf-8")
        ):
            if "://" not in link and not (path.parent / link).is_file():
                found.append((path.relative_to(folder).as_posix(), link))
    return found


def unpacked(monkeypatch, target):
    """Put the files that `hatch_build.py` adds to a wheel below a folder, as an installer does."""
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["Notebooks"]()
    hook.root, data = str(ROOT), {"force_include": {}}
    hook.initialize("standard", data)
    for source, inside in data["force_include"].items():
        path = target / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
    return target / "minigrad" / "learning" / "notebooks"


def test_every_link_of_notebooks_copied_from_a_wheel_leads_to_a_file(monkeypatch, tmp_path):
    site = tmp_path / "site-packages"
    monkeypatch.setattr(demo, "NOTEBOOKS", site / "notebooks")
    monkeypatch.setattr(demo, "PACKED", unpacked(monkeypatch, site))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    assert main(["tutorial"]) == 1, "there is no Jupyter"
    copy = tmp_path / "minigrad-notebooks"
    assert missing_links(copy) == []
    assert (copy / "sources/minigrad/core/layout.py").read_text() == (ROOT / "minigrad/core/layout.py").read_text()
    assert (copy / "sources/docs/add_an_op.md").is_file() and (copy / "sources/examples/own_kernel.py").is_file()


def test_every_link_of_the_notebooks_in_a_checkout_leads_to_a_file():
    assert missing_links(ROOT / "notebooks") == []


def test_doctor_reports_that_kernels_run(capsys):
    assert main(["doctor"]) == 0
    lines = {line[:18].rstrip(): line[18:].strip() for line in capsys.readouterr().out.splitlines()}
    assert lines["kernel"] == "runs" and "cores, layer" in lines["threads"]
    assert lines["cuda"].startswith("yes: ") or lines["cuda"].endswith("runs the same kernels without a GPU")
    assert lines["cuda compiler"].startswith(("yes, without a device too: ", "no: "))
    assert lines["pack"].startswith(("none", "not used")) or " kernels for x86-64-v" in lines["pack"]
    assert lines["resvg-py"] and lines["svglib"], "the packages that save .png and .pdf"
    assert re.fullmatch(r"(\d+ (compiled|from the cache|from the pack|as Python)(, )?)+", lines["kernels here"])


def test_doctor_says_how_to_install_what_pictures_lack(monkeypatch):
    monkeypatch.setattr(doctor.metadata, "version", missing_version)
    lines = doctor.report()
    for package, ending in (("resvg-py", ".png"), ("svglib", ".pdf")):
        told = f"not installed: no picture can be saved as {ending}; run {sys.executable} -m pip install {package}"
        assert lines[package] == told


def missing_version(package):
    raise importlib.metadata.PackageNotFoundError(package)


def test_a_reader_who_leaves_early_is_no_error():
    done = subprocess.Popen(
        [sys.executable, "-m", "minigrad", "kernel", "sum"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    done.stdout.close()
    assert (done.stderr.read(), done.wait(timeout=60)) == (b"", 0)


def test_the_demo_proves_a_gradient_draws_it_and_learns_the_digits(capsys, tmp_path):
    picture = tmp_path / "graph.svg"
    assert main(["demo", "--out", str(picture)]) == 0, "the network stayed under 97 %"
    text = capsys.readouterr().out
    assert "[11.0, 7.0, 13.0]" in text and "agrees with central differences" in text
    accuracy = float(text.split("test accuracy ")[1].split("%")[0])
    assert accuracy >= 97.0 and "on 355 held-out images" in text and " ms for each of" in text
    assert picture.read_text().count("<title") >= 1


def test_the_demo_wants_an_epoch(capsys):
    with pytest.raises(SystemExit):
        main(["demo", "--epochs", "0"])
    assert "--epochs: expected a positive integer, got '0'" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-1", "two", "2.5"])
def test_run_wants_a_positive_count(capsys, count):
    with pytest.raises(SystemExit):
        main(["run", "-n", count, "script.py"])
    assert f"argument -n: expected a positive integer, got '{count}'" in capsys.readouterr().err


def test_kernel_prints_what_runs_on_cuda_without_a_device(capsys):
    assert main(["kernel", "mul", "--device", "cuda"]) == 0
    text = capsys.readouterr().out
    assert "def value(in_0, in_1):" in text and "cuda.blockIdx.x" in text and "load_4(in_0" in text


def test_kernel_shows_resources_where_there_is_a_compiler(capsys):
    status = main(["kernel", "mul", "--device", "cuda", "--show", "resources"])
    printed = capsys.readouterr()
    if status == 2:
        assert "cannot be compiled: " in printed.err and ": pip install 'numba-cuda[cu13]" in printed.err
    else:
        assert "widest access  128 bits" in printed.out and "of which 0 are spilled" in printed.out


def test_kernel_shows_ptx_of_cuda_only(capsys):
    assert main(["kernel", "mul", "--show", "ptx"]) == 2
    assert (
        "--show ptx requires a CUDA device, but the selected device is the CPU; add --device cuda"
        in capsys.readouterr().err
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("command", [[], ["tutorial"], ["kernel", "mul"], ["doctor"]], ids=" ".join)
def test_an_output_that_cannot_be_written_is_one_sentence(command):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "minigrad", *command], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.startswith(
        "python -m minigrad: cannot write the output: No space left on device; free some space"
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["demo", "doctor", "warmup", "pack", "kernel", "tutorial"])
def test_no_command_ends_in_a_traceback_where_it_cannot_write(name, capsys, monkeypatch):
    def fail(given):
        raise PermissionError(13, "Permission denied", "/nowhere/x.svg")

    monkeypatch.setattr("minigrad.__main__.run", fail)
    more = {"kernel": ["mul"], "pack": ["--cpu", "x86-64-v3"]}.get(name, [])
    assert main([name, *more]) == 1
    told = "python -m minigrad: cannot write /nowhere/x.svg: Permission denied; run the command in a folder that you "
    assert capsys.readouterr().err == told + "may write to\n"


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("ENOSPC", "free some space"),
        ("EDQUOT", "free some space"),
        ("EACCES", "run the command in a folder that you may write to"),
        ("EROFS", "run the command in a folder that you may write to"),
        ("ENOENT", "create its folder first, or choose another path"),
        ("EIO", "run the command in another folder"),
    ],
)
def test_the_advice_of_a_failed_write_suits_its_reason(code, remedy, capsys, monkeypatch):
    def fail(given):
        raise OSError(getattr(errno, code), "the reason", "x.svg")

    monkeypatch.setattr("minigrad.__main__.run", fail)
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == f"python -m minigrad: cannot write x.svg: the reason; {remedy}\n"


def test_the_greeting_and_the_readme_list_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = re.search(r"\{([\w,]+)\}", capsys.readouterr().out)[1].split(",")
    assert len(commands) == 8 and main([]) == 0
    for text in (capsys.readouterr().out, (ROOT / "README.md").read_text(encoding="utf-8")):
        assert [name for name in commands if f"    python -m minigrad {name} " not in text] == []


def test_the_help_describes_each_command_and_argument_by_a_phrase(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["--help"])
    firsts = re.findall(r"^    \w+ +(\w+)", capsys.readouterr().out, re.MULTILINE)
    assert firsts == ["run", "open", "print", "compile", "compile", "start", "print", "print"]
    with pytest.raises(SystemExit):
        main(["kernel", "--help"])
    phrases = re.findall(r"^  (?:--)?\w+.*?  +(\S.*)", capsys.readouterr().out, re.MULTILINE)
    assert "name of an op, such as mul, exp or sum" in phrases and all(text.count(" ") > 1 for text in phrases)


@pytest.mark.parametrize("command", [["warmup"], ["run", "-n", "2"]])
def test_a_script_that_does_not_exist_ends_in_a_sentence(command):
    with pytest.raises(SystemExit, match=r"there is no file 'nowhere[.]py'; pass the path of a Python script"):
        main([*command, "nowhere.py"])


def test_warmup_without_a_cache_ends_in_a_sentence(capsys, tmp_path):
    (tmp_path / "a_file").touch()
    with mg.override(cache_dir=tmp_path / "a_file"):
        assert main(["warmup"]) == 1
    assert capsys.readouterr().err.startswith(f"python -m minigrad: the kernel cache {tmp_path}/a_file")


LIMITED = """
import resource, sys
from minigrad.__main__ import main
if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", ["warmup", "doctor"])
def test_a_cache_in_which_no_kernel_can_be_stored_is_reported(tmp_path, command):
    full = tmp_path / "cache"
    environment = os.environ | {"MINIGRAD_CACHE_DIR": str(full), "PYTHONPATH": str(ROOT)}
    environment["NUMBA_DISABLE_JIT"] = "1" if command == "doctor" else "0"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, command], env=environment, capture_output=True, text=True, timeout=60
    )
    reason = f"the kernel cache {full / 'kernels'} cannot be written: File too large; free some space, or set "
    reason += "MINIGRAD_CACHE_DIR to a folder of your own on another disk"
    if command == "warmup":
        assert (done.returncode, done.stderr) == (1, f"python -m minigrad: {reason}\n")
    else:
        assert reason in done.stdout


def test_doctor_reports_that_the_cache_can_be_written():
    assert re.fullmatch(r".*: \d+ kernels, [\d.]+ MB, without a limit of its size, can be written", doctor.cache_text())


def test_warmup_without_a_compiler_ends_in_a_sentence(capsys, monkeypatch):
    monkeypatch.setattr("minigrad.cli.warmup.without_compiler", lambda: True)
    assert main(["warmup"]) == 1
    told = "python -m minigrad: warmup: nothing to compile with NUMBA_DISABLE_JIT=1; unset NUMBA_DISABLE_JIT\n"
    assert capsys.readouterr().err == told


def test_a_pipe_whose_reader_has_gone_ends_a_command_quietly():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "minigrad"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


WHERE = {
    "softmax": ("mg.softmax  minigrad/ops/nn/softmax.py:", "gradient  input: minigrad/ops/nn/softmax.py:",
                "cpu         minigrad/backends/cpu/rows.py:", "cuda        minigrad/backends/cuda/rows.py:",
                "any device  minigrad/backends/lowering/rows.py:", "test rows tests/op_rows/"),
    "F.max_pool2d": ("calls     max_pool: minigrad/ops/nn/windows.py:", "request   MaxPool: minigrad/core/"),
    "x[mask] = v": ("mg.Tensor.__setitem__  minigrad/ops/indexing/assignment.py:",
                    "calls     put: minigrad/ops/shape/put.py:"),
    "x[0]": ("mg.Tensor.__getitem__  minigrad/ops/indexing/", "calls     index: minigrad/ops/shape/views.py:"),
    "x < -y": ("mg.Tensor.__lt__", "mg.Tensor.__neg__"),
    "x += y": ("mg.Tensor.__iadd__  minigrad/api/in_place.py:", "mg.Tensor.__add__  minigrad/ops/"),
    "a @ b": ("mg.Tensor.__matmul__",),
    "x.real": ("mg.Tensor.real  minigrad/ops/shape/parts.py:",),
    "backward": ("mg.backward  minigrad/autodiff/engine.py:",), "loss.backward()": ("mg.Tensor.backward  minigrad/",),
    "nn.Linear": ("mg.nn.Linear  minigrad/nn/modules/linear.py:",), "Adam": ("mg.optim.Adam  minigrad/optim/adam.py:",),
    "mg.func.grad(f)": ("mg.func.grad  minigrad/func/transforms.py:",), "index_put": ("request   SelectPut",),
}  # fmt: skip


@pytest.mark.parametrize("name", WHERE)
def test_where_names_the_files_of_a_name_or_of_syntax(name, capsys):
    assert main(["where", name]) == 0
    text = capsys.readouterr().out
    assert [line for line in WHERE[name] if line not in text] == []
    for path, number in re.findall(r"(\S+):(\d+)$", text, re.MULTILINE):
        assert int(number) <= len((ROOT / path).read_text().splitlines()), path


def test_where_advises_for_an_unknown_name(capsys):
    assert main(["where", "relux"]) == 1 and main(["where", "x ["]) == 1
    unknown, broken = capsys.readouterr().err.splitlines()
    assert "'relux'; did you mean relu" in unknown and "x [" in broken


def test_where_finds_a_place_for_every_op(capsys):
    for name in schema:
        text = "\n".join(lines_about(name))
        assert text and not re.search(r"[: ]$", text, re.MULTILINE), text


@pytest.mark.parametrize("name", ["Tensor", "Var", "BackpropOp"])
def test_kernel_of_a_class_is_an_error_in_words(capsys, name):
    assert main(["kernel", name]) == 2
    assert f"there is no op {name!r}" in capsys.readouterr().err

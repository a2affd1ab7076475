"""The commands `doctor` and `kernel`: they describe this machine and print kernels that minigrad generates for it."""

from __future__ import annotations

import inspect
import os
import platform
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Final

import minigrad as mg
from minigrad.backends.parallel import get_num_threads, threading_layer
from minigrad.cli.samples import CALLED, operands_of, params_of
from minigrad.config import settings
from minigrad.core.device import CPU, Device
from minigrad.core.op import Op
from minigrad.declare.record import lookalikes, schema
from minigrad.errors import MinigradError
from minigrad.kernels.calling import team
from minigrad.kernels.cpu.processor import features, level
from minigrad.kernels.objects import settings as settings_of_numba
from minigrad.kernels.store import cache_folder, loaded, site_folder, source, writable_folder
from minigrad.runtime.recording import definition_of
from minigrad.viz.explain import kernel_files
from minigrad.viz.picture import PACKAGES

MISSING: Final = "not installed"
# Modules whose functions consist of ops and have no separate kernel.
COMPOSED = ("minigrad.ops.", "minigrad.nn.", "minigrad.api.methods", "minigrad.api.pytorch")


def print_report() -> int:
    """Print a report with one fact per line: versions, threads, vector width, cache and CUDA.

    Returns 1 if no kernel can run, otherwise 0.
    """
    for name, value in report().items():
        print(f"{name:18} {value}")
    return 0 if "kernel" in report() else 1


def report() -> dict[str, str]:
    """Return the lines of `doctor`.  A parallel kernel runs first, so that the threading layer is the one in use."""
    lines = {"minigrad": mg.__version__, "python": f"{platform.python_version()} on {platform.platform()}"}
    for package in ("numba", "llvmlite", "numpy", "ml_dtypes", "graphviz"):
        lines[package] = version_of(package)
    for ending, package in PACKAGES.items():
        absent = f": no picture can be saved as {ending}; run {sys.executable} -m pip install {package}"
        lines[package] = (version := version_of(package)) + (absent if version == MISSING else "")
    try:
        with mg.override(parallel_threshold=0):
            total = (mg.ones(64) + mg.arange(64, dtype=mg.float32)).sum().item()
        lines["kernel"] = "runs" if total == 2080 else f"WRONG: the sum of 1..64 gave {total}"
        lines["threads"] = f"{get_num_threads()} of {os.cpu_count()} cores, layer {threading_layer()}"
        lines["vectors"] = vector_text()
    except (MinigradError, ImportError) as error:
        lines["kernel error"] = str(error)
    lines["kernel cache"] = cache_text()
    lines["site cache"] = site_text()
    lines["pack"] = pack_text()
    lines["kernels here"] = ", ".join(f"{count} {origin}" for origin, count in sorted(origins().items())) or "none"
    lines["parallel from"] = f"{settings.parallel_threshold} elements"
    lines["cuda"] = cuda_text()
    lines["cuda compiler"] = compiler_text()
    return lines


def version_of(package: str) -> str:
    """Return the version of an installed package, or "not installed"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return MISSING


def vector_text() -> str:
    """Return a description of the vector registers for which kernels are compiled."""
    from llvmlite import binding

    known = (("avx512f", 512, "AVX-512"), ("avx2", 256, "AVX2"), ("neon", 128, "NEON"), ("sse2", 128, "SSE2"))
    for name, bits, label in known:
        if name in features():
            return f"{bits} bits ({label}), {bits // 32} float32 at once, CPU {binding.get_host_cpu_name()}"
    return f"unknown, CPU {binding.get_host_cpu_name()}"


def cache_text() -> str:
    """Return the cache folder, with its number of kernels, its size and whether it can be written, as text."""
    try:
        folder = cache_folder()
    except MinigradError as error:
        return f"none, each process compiles its own kernels: {error}"
    return f"{content_text(folder)}, without a limit of its size, {access_text()}"


def site_text() -> str:
    """Return the administrator's cache folder with its content as text, or the reason why it is not used."""
    try:
        folder = site_folder()
    except MinigradError as error:
        return f"not used: {error}"
    return "none; MINIGRAD_SITE_CACHE_DIR names one" if folder is None else content_text(folder)


def content_text(folder: Path) -> str:
    """Return a folder with the number of its kernels and their size as text."""
    files = [f for f in folder.rglob("*") if f.is_file()]
    kernels = sum(1 for f in files if f.suffix == ".py")
    return f"{folder}: {kernels} kernels, {sum(f.stat().st_size for f in files) / 1e6:.1f} MB"


def access_text() -> str:
    """Return whether the cache can be written as text, with the reason if it cannot."""
    try:
        writable_folder()
    except MinigradError as error:
        return f"cannot be written, each process compiles the kernels that are missing: {error}"
    return "can be written"


def pack_text() -> str:
    """Return the file with the packed object code for this processor as text, or the reason why there is none."""
    from minigrad.kernels import packs

    name = level()
    if not name:
        return "none: packs are for levels of x86-64"
    pack = packs.opened()
    if pack is None:
        overridden = settings_of_numba()
        absent = f"none for {name}; `python -m minigrad pack --cpu {name}` writes one"
        return f"not used: {', '.join(overridden)}" if overridden else absent
    return f"{packs.path_of(name)}: {len(pack.namelist())} kernels for {name}"


def origins() -> Counter[str]:
    """Return how many kernels of this process have each origin, such as the cache."""
    words = {"cache": "from the cache", "pack": "from the pack", "python": "as Python"}
    return Counter(words.get(kernel.origin, kernel.origin) for kernel in loaded.values())


def cuda_text() -> str:
    """Return "yes" or "no" as text: whether CUDA can be used, with the reason if it cannot."""
    from minigrad.backends.cuda.presence import INSTEAD, driver, fault

    reason = fault()
    if reason:
        return f"no: {reason}; {INSTEAD}"
    versions = ", ".join(f"{package} {version_of(package)}" for package in ("numba-cuda", "cuda-core"))
    return f"yes: {driver().devices} devices, a driver for CUDA {driver().text}, {versions}"


def compiler_text() -> str:
    """Return "yes" or "no" as text: whether kernels can be compiled for CUDA, which needs no device."""
    from minigrad.backends.cuda.compile import made_by, missing

    return f"no: {missing()}" if missing() else f"yes, without a device too: {made_by()}"


def print_kernel(name: str, dtype: str, layout: str, parallel: bool, device: str = "cpu", show: str = "source") -> int:
    """Print the kernel of an op; return 2 if the op has none, or if it cannot be shown, otherwise 0."""
    try:
        shown = (
            cuda_kernels(name, dtype, layout, parallel, show)
            if device == "cuda"
            else host_kernels(name, dtype, layout, parallel, show)
        )
    except MinigradError as error:
        print(f"kernel: {error}", file=sys.stderr)
        return 2
    for path, text in shown:
        print(f"# {path}\n{text}")
    return 0


def host_kernels(name: str, dtype: str, layout: str, parallel: bool, show: str) -> list[tuple[str, str]]:
    """Return pairs of a file and its text, for the CPU kernels of an op."""
    if show != "source":
        raise mg.ArgumentError(
            f"--show {show} requires a CUDA device, but the selected device is the CPU; add --device cuda"
        )
    return [(path, source(path)) for path in files_of(name, dtype, layout, parallel)]


def cuda_kernels(name: str, dtype: str, layout: str, large: bool, show: str) -> list[tuple[str, str]]:
    """Return pairs of a file and its source, PTX or resources for the CUDA kernels of an op; no device is needed."""
    from minigrad.backends.cuda import compile as compiler
    from minigrad.backends.cuda.runtime import Program

    with mg.override(cuda="simulator"):
        files = files_of(name, dtype, layout, large, mg.device("cuda"))
    # The path is "<minigrad mul_f32_..._0123456789abcdef.py>": a name and the hash of the text.
    programs = [Program(path.removeprefix("<minigrad ").rpartition("_")[0], source(path)) for path in files]
    if show == "source":
        return [(program.file, program.text) for program in programs]
    made = [(program.file, compiler.compiled(program)) for program in programs]
    return [(file, binary.ptx if show == "ptx" else f"{binary.report()}\n") for file, binary in made]


def files_of(name: str, dtype: str, layout: str, parallel: bool, device: Device = CPU) -> list[str]:
    """Return the files of the kernels that an op runs on operands of a sample shape."""
    op = find_op(name)
    if op.kind == "view":
        raise mg.ArgumentError(
            f"{name} is a view (declared at {op.where}), which computes strides and runs no kernel; request an op that "
            "computes elements"
        )
    large = parallel or layout == "tiled"
    files = kernel_files(op, operands_of(op, dtype, layout, large), device, params_of(op, device, large))
    # Large operands use the same kernel, and also the loop that distributes its tasks over threads.
    return [*files, team().path] if parallel and device is CPU else files


def find_op(name: str) -> Op:
    """Return the op with the given name, or the op that a public function of this name calls, such as `softmax`.

    Raises ArgumentError for a function that is composed of other ops, and for an unknown name; the message for an
    unknown name lists similar names.
    """
    # This import comes first, because it declares the ops of layers.
    function = getattr(mg.nn.functional, name, None) or getattr(mg, name, None)
    result = schema[CALLED[name]] if name in CALLED else getattr(function, "op", None) or schema.get(name)
    if not isinstance(result, Op):  # the `op` of a class is the descriptor of a slot
        result = None
    if result is not None and result.kind != "composed":
        return result
    for op in schema.values():
        if op.label == name and op.kind != "composed":
            return op
    if result is not None:
        raise mg.ArgumentError(
            f"{name} is composed of other ops at {result.where} and has no kernel; request the kernel of one of these "
            "ops"
        )
    if inspect.isfunction(function) and function.__module__.startswith(COMPOSED):
        where = definition_of(function)
        raise mg.ArgumentError(
            f"{name} is composed of other ops at {where} and has no kernel; request the kernel of one of these ops"
        )
    near = lookalikes(name)
    meant = f"do you mean {' or '.join(near)}? " if near else ""
    raise mg.ArgumentError(f"there is no op {name!r}; {meant}`sorted(mg.schema)` lists all {len(schema)}")

"""The commands of `python -m minigrad`: demo, tutorial, doctor, warmup, pack, run, where NAME and kernel NAME.

They run an example, open the notebooks, describe this machine, compile kernels in advance for this machine or for a
wheel, run a script in several processes, and print where a name is defined, or the source of a kernel.  Without a
command, a greeting is printed.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from minigrad.kernels.cpu.processor import LEVELS

FLOATS = ("float32", "float64", "float16", "bfloat16")
SPACE, FOLDER = "free some space", "run the command in a folder that you may write to"
MISSING = "create its folder first, or choose another path"
REMEDIES: dict[int | None, str] = {
    errno.ENOSPC: SPACE, errno.EDQUOT: SPACE, errno.EFBIG: SPACE, errno.EACCES: FOLDER, errno.EPERM: FOLDER,
    errno.EROFS: FOLDER, errno.ENOENT: MISSING, errno.ENOTDIR: MISSING,
}  # fmt: skip


def positive(text: str) -> int:
    """Return the int of at least 1 that a text represents, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    try:
        try:
            status = run(read_arguments(argv))
        finally:  # `--help` raises SystemExit, so the output is flushed in this case as well
            flush()
    except BrokenPipeError:  # the reader closed the pipe, as in `python -m minigrad kernel sum | head`
        discard_output()
        return 0
    except OSError as error:  # the disk is full, or a folder is missing
        with suppress(OSError):
            print(
                f"python -m minigrad: cannot write {error.filename or 'the output'}: {error.strerror}; "
                f"{REMEDIES.get(error.errno, 'run the command in another folder')}",
                file=sys.stderr,
            )
        discard_output()
        return 1
    except Exception as error:
        from minigrad.errors import KernelError

        if not isinstance(error, KernelError):
            raise
        with suppress(OSError):
            print(f"python -m minigrad: {error}", file=sys.stderr)
        return 1
    return status


def flush() -> None:
    """Write buffered output; a process that was started without standard output has none."""
    if sys.stdout is not None:
        sys.stdout.flush()


def discard_output() -> None:
    """Discard the rest of the output, or Python reports a second error at exit."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse and check the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m minigrad", description="Commands of minigrad, an autograd framework."
    )
    commands = parser.add_subparsers(dest="command")
    demo = commands.add_parser(
        "demo",
        help="run two examples: a gradient with its check and its graph, and a network that is trained on digits",
    )
    demo.add_argument("--epochs", type=positive, default=40, help="number of training epochs (default 40)")
    demo.add_argument(
        "--out", default="simple_grad.svg", help="file of the picture of the graph (default simple_grad.svg)"
    )
    commands.add_parser(
        "tutorial", help="open the notebooks in Jupyter; an installed wheel first copies them to ./minigrad-notebooks"
    )
    commands.add_parser(
        "doctor", help="print versions, threads, vector width, the kernel cache, and whether CUDA can be used"
    )
    warmup = commands.add_parser(
        "warmup", help="compile the common kernels, or those of a script, into the kernel cache, in several processes"
    )
    warmup.add_argument(
        "--dtype",
        action="append",
        choices=FLOATS,
        help="dtype of the kernels; repeat the option for several dtypes (default float32)",
    )
    warmup.add_argument("--jobs", type=positive, help="number of processes (default: the number of processors)")
    warmup.add_argument(
        "script", nargs="?", help="script that is run once; only the kernels that it needs are compiled"
    )
    warmup.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    pack = commands.add_parser(
        "pack", help="compile the common kernels into the package, so that a wheel contains them"
    )
    pack.add_argument(
        "--cpu",
        nargs="+",
        required=True,
        choices=sorted(LEVELS),
        help="levels of x86-64; the command writes one pack per level",
    )
    pack.add_argument(
        "--dtype",
        action="append",
        choices=FLOATS,
        help="dtype of the kernels; repeat the option for several dtypes (default float32)",
    )
    pack.add_argument("--jobs", type=positive, help="number of processes (default: the number of processors)")
    several = commands.add_parser("run", help="start a script in several processes that communicate by mg.dist")
    several.add_argument("-n", type=positive, required=True, dest="count", help="number of processes")
    several.add_argument("script", help="script that each process runs")
    several.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    where = commands.add_parser("where", help="print the files of a name: its declaration, gradient, kernels and tests")
    where.add_argument("name", help="a name, such as softmax or nn.Linear, or syntax, such as 'x[mask] = v'")
    kernel = commands.add_parser("kernel", help="print the generated source of an op's kernel")
    kernel.add_argument("name", help="name of an op, such as mul, exp or sum")
    kernel.add_argument("--dtype", default="float32", help="dtype of the operands (default float32)")
    kernel.add_argument(
        "--layout",
        default="dense",
        choices=("dense", "rows", "strided", "tiled"),
        help="layout of the operands (default dense)",
    )
    kernel.add_argument(
        "--parallel",
        action="store_true",
        help="print the kernel for large operands, and the loop that divides its tasks among threads",
    )
    kernel.add_argument(
        "--device", default="cpu", choices=("cpu", "cuda"), help="device that the kernel is for (default cpu)"
    )
    kernel.add_argument(
        "--show",
        default="source",
        choices=("source", "ptx", "resources"),
        help="part to print (default source); ptx and resources require --device cuda",
    )
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> int:
    """Run the given command; only the module of this command is imported."""
    if options.command in (None, "tutorial"):
        from minigrad.cli.demo import greet, tutorial

        return tutorial() if options.command else greet()
    if options.command == "demo":
        from minigrad.cli.demo import run as run_demo

        return run_demo(options.epochs, options.out)
    script = getattr(options, "script", None)
    if script and not os.path.isfile(script):
        raise SystemExit(f"{options.command}: there is no file {script!r}; pass the path of a Python script")
    if options.command == "warmup":
        from minigrad.cli.warmup import run as run_warmup
        from minigrad.cli.warmup import run_script

        if options.script and options.dtype:
            raise SystemExit("warmup: a script determines its dtypes itself; omit --dtype")
        if options.script:
            return run_script(options.script, options.arguments, options.jobs)
        return run_warmup(tuple(options.dtype or FLOATS[:1]), options.jobs)
    if options.command == "pack":
        from minigrad.cli.pack import run as run_pack

        return run_pack(options.cpu, options.dtype or list(FLOATS[:1]), options.jobs)
    if options.command == "run":
        from minigrad.dist.group import run as run_several

        return run_several(options.count, options.script, options.arguments)
    if options.command == "where":
        from minigrad.cli.where import run as run_where

        return run_where(options.name)
    from minigrad.cli.doctor import print_kernel, print_report

    if options.command == "doctor":
        return print_report()
    return print_kernel(options.name, options.dtype, options.layout, options.parallel, options.device, options.show)


if __name__ == "__main__":
    sys.exit(main())

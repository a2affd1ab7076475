"""The commands of `python -m minigrad`: demo, tutorial, doctor, warmup, pack, run and kernel NAME.

They run an example, open the notebooks, describe this machine, compile kernels in advance for this machine or for a
wheel, run a script in several processes, and print the source of a kernel.  Without a command, a greeting is printed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from minigrad.kernels.cpu.processor import LEVELS

FLOATS = ("float32", "float64", "float16", "bfloat16")


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
            print(f"python -m minigrad: cannot write {error.filename or 'the output'}: {error.strerror}; free some "
                  f"space, or run the command in a folder that you may write to", file=sys.stderr)  # fmt: skip
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
    parser = argparse.ArgumentParser(prog="python -m minigrad", description="minigrad: autograd to read and to use")
    commands = parser.add_subparsers(dest="command")
    demo = commands.add_parser("demo", help="simple_grad, its proof and picture, then a network on handwritten digits")
    demo.add_argument("--epochs", type=positive, default=40, help="training epochs (default 40)")
    demo.add_argument("--out", default="simple_grad.svg", help="where the picture of the graph goes")
    commands.add_parser("tutorial", help="open the notebooks in Jupyter; of a wheel, a copy in ./minigrad-notebooks")
    commands.add_parser("doctor", help="versions, threads, vector width, cache folder, CUDA or why not")
    warmup = commands.add_parser("warmup", help="compile the common kernels now, in several processes")
    warmup.add_argument("--dtype", action="append", choices=FLOATS, help="may repeat (default float32)")
    warmup.add_argument("--jobs", type=positive, help="processes (default: as many as processors)")
    pack = commands.add_parser("pack", help="compile the common kernels for a wheel to carry")
    pack.add_argument("--cpu", nargs="+", required=True, choices=sorted(LEVELS), help="levels, a pack for each")
    pack.add_argument("--dtype", action="append", choices=FLOATS, help="may repeat (default float32)")
    pack.add_argument("--jobs", type=positive, help="processes (default: as many as processors)")
    several = commands.add_parser("run", help="start a script in several processes, which mg.dist connects")
    several.add_argument("-n", type=positive, required=True, dest="count", help="number of processes")
    several.add_argument("script", help="the script that each of them runs")
    several.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    kernel = commands.add_parser("kernel", help="print the generated source of an op's kernel")
    kernel.add_argument("name", help="an op, such as mul, exp or sum")
    kernel.add_argument("--dtype", default="float32", help="dtype of the operands (default float32)")
    kernel.add_argument("--layout", default="dense", choices=("dense", "rows", "strided", "tiled"), help="layout class")
    kernel.add_argument("--parallel", action="store_true", help="large operands: also the loop that shares the tasks")
    kernel.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="whose kernel (default cpu)")
    kernel.add_argument("--show", default="source", choices=("source", "ptx", "resources"), help="what of it; of cuda")
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> int:
    """Run the given command; only the module of this command is imported."""
    if options.command in (None, "tutorial"):
        from minigrad.cli.greeting import greet, tutorial

        return tutorial() if options.command else greet()
    if options.command == "demo":
        from minigrad.cli.demo import run as run_demo

        return run_demo(options.epochs, options.out)
    if options.command == "warmup":
        from minigrad.cli.warmup import run as run_warmup

        return run_warmup(tuple(options.dtype or FLOATS[:1]), options.jobs)
    if options.command == "pack":
        from minigrad.cli.pack import run as run_pack

        return run_pack(options.cpu, options.dtype or list(FLOATS[:1]), options.jobs)
    if options.command == "run":
        from minigrad.dist.launcher import run as run_several

        return run_several(options.count, options.script, options.arguments)
    from minigrad.cli.doctor import print_kernel, print_report

    if options.command == "doctor":
        return print_report()
    return print_kernel(options.name, options.dtype, options.layout, options.parallel, options.device, options.show)


if __name__ == "__main__":
    sys.exit(main())

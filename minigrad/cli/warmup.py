"""Compile the kernels of most programs before they are needed: `python -m minigrad warmup`.

A process compiles one kernel at a time, so several processes share the list.  The kernel cache stores the results, and
kernels that it already contains are only loaded.  The command ends if the cache cannot store a kernel.  Each piece of
work is a short program with the public API that runs ops forward and backward, with small operands (one thread) and
large ones (all threads).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from multiprocessing import get_context
from typing import Any

import minigrad as mg
from minigrad.cli.demo import progress
from minigrad.cli.rehearsal import rehearse
from minigrad.config import settings
from minigrad.errors import KernelError, quantity
from minigrad.kernels.calling import team
from minigrad.kernels.notice import CacheError, require_cache, silence
from minigrad.kernels.store import cache_folder, keep, without_compiler, writable_folder

Work = Callable[[Any, tuple[int, int]], Any]
SIZES = ((8, 16), (512, 640))  # below and above the threshold from which all threads are used


def leaf(dtype: Any, *shape: int) -> mg.Tensor:
    """Return a Var with random numbers between 0.5 and 1."""
    return mg.Var(mg.uniform(shape, 0.5, 1.0, dtype=dtype))


def unary(*names: str) -> Work:
    """Return a piece of work that runs functions of one operand and their gradients."""

    def work(dtype: Any, shape: tuple[int, int]) -> None:
        for name in names:
            x = leaf(dtype, *shape)
            getattr(mg, name)(x).backward()

    return work


def arithmetic(dtype: Any, shape: tuple[int, int]) -> None:
    """Run sums and products of tensors, rows and numbers, and elementwise choices."""
    a, b, row = leaf(dtype, *shape), leaf(dtype, *shape), leaf(dtype, shape[1])
    for y in (a + b, a - b, a * b, a / b, a + row, a * row, a * 2.0, 2.0 * a, a + 1.0, 1.0 - a, a**2.0, -a):
        y.backward()
    mg.where(a > b, a, b).backward()
    mg.maximum(a, 0.5).backward()


def in_place(dtype: Any, shape: tuple[int, int]) -> None:
    """Run the in-place ops of an optimizer."""
    x, g = mg.ones(shape, dtype=dtype), mg.ones(shape, dtype=dtype)
    x.mul_(0.9).add_(g).sub_(g * 0.1)
    x.copy_(g)
    x.zero_()


def optimizers(dtype: Any, shape: tuple[int, int]) -> None:
    """Run a step of the optimizers that most programs use, with clipped gradients."""
    p: Any = leaf(dtype, *shape)
    p.grad = mg.ones(shape, dtype=dtype)
    mg.optim.lists.scale_([p.grad], 0.5)
    for optimizer in (mg.optim.SGD([p]), mg.optim.SGD([p], momentum=0.9), mg.optim.Adam([p]), mg.optim.AdamW([p])):
        optimizer.step()


def reducers(dtype: Any, shape: tuple[int, int]) -> None:
    """Run sums, means and extrema over all elements and along each dim."""
    x = leaf(dtype, *shape)
    for dim in (None, 0, 1):
        for reducer in (mg.sum, mg.mean, mg.amax):
            reducer(x, dim).backward()
        mg.argmax(x, dim)
    mg.var(x).backward()
    mg.norm(x).backward()


def rows(dtype: Any, shape: tuple[int, int]) -> None:
    """Run the functions along rows that classifiers and transformers use."""
    x, weight, bias = leaf(dtype, *shape), leaf(dtype, shape[1]), leaf(dtype, shape[1])
    functional = mg.nn.functional
    functional.softmax(x, 1).backward()
    functional.log_softmax(x, 1).backward()
    functional.layer_norm(x, (shape[1],), weight, bias).backward()
    functional.cross_entropy(x, mg.zeros(shape[0], dtype=mg.int64)).backward()


def products(dtype: Any, shape: tuple[int, int]) -> None:
    """Run matrix products, with and without a bias, and with a vector."""
    x, weight, bias = leaf(dtype, *shape), leaf(dtype, 32, shape[1]), leaf(dtype, 32)
    mg.nn.functional.linear(x, weight, bias).backward()
    (x @ leaf(dtype, shape[1], shape[0])).backward()
    (x @ leaf(dtype, shape[1])).backward()


def images(dtype: Any, shape: tuple[int, int]) -> None:
    """Run a convolution and two kinds of pooling."""
    x, weight, bias = leaf(dtype, 2, 4, *shape), leaf(dtype, 8, 4, 3, 3), leaf(dtype, 8)
    y = mg.nn.functional.conv2d(x, weight, bias, padding=1)
    mg.nn.functional.max_pool2d(y, 2).backward()
    mg.nn.functional.avg_pool2d(x, 2).backward()


def indexing(dtype: Any, shape: tuple[int, int]) -> None:
    """Run indexing by tensors and masks, slices, concatenations and transposes."""
    x = leaf(dtype, *shape)
    index = mg.zeros(shape[0], dtype=mg.int64)
    x[index].backward()
    mg.nn.functional.embedding(index, x).backward()
    x[x > 0.7].backward()
    x[1:, ::2].backward()
    mg.cat([x, x]).backward()
    x.t().contiguous().backward()


def order(dtype: Any, shape: tuple[int, int]) -> None:
    """Run sorting, top k and cumulative sums."""
    x = leaf(dtype, *shape)
    x.sort().values.backward()
    x.topk(2).values.backward()
    x.cumsum(1).backward()


def filling(dtype: Any, shape: tuple[int, int]) -> None:
    """Run constants, random numbers and casts."""
    mg.zeros(shape, dtype=dtype)
    mg.ones(shape, dtype=dtype)
    mg.randn(*shape, dtype=dtype)
    mg.arange(shape[0], dtype=dtype)
    mg.ones(shape, dtype=mg.int64).to(dtype)


def training(dtype: Any, shape: tuple[int, int]) -> None:
    """Run a training step of a classifier, and its accuracy: shuffled batches, predictions, the mean loss."""
    images, weight = mg.ones(shape, dtype=dtype), leaf(dtype, shape[1], 10)
    labels = mg.arange(shape[0]) % 10
    batch = mg.randperm(shape[0])[: shape[0] // 2]
    scores = images[batch] @ weight
    (-scores.log_softmax(1).gather(1, labels[batch].unsqueeze(1))).mean().backward(retain_graph=True)
    for guesses in (scores.argmax(1), scores.max(1).indices):
        (guesses == labels[batch]).to(dtype).mean()
    scores.square().mean().backward()


def proofs(dtype: Any, shape: tuple[int, int]) -> None:
    """Check gradients by finite differences, which run in float64 for every dtype."""
    x = mg.Var([3.0, 1.0, 4.0], dtype=mg.float64)
    mg.testing.gradcheck(lambda x: x * x + x * 5.0 + 4.0, x)
    mg.testing.gradcheck(lambda x: x * mg.tanh(mg.nn.functional.softplus(x)) * (1.0 - mg.sigmoid(-x)), x)
    mg.uniform((3,), 0.5, 1.0, dtype=mg.float64)
    mg.viz.precision(lambda x: 1.0 - x.cos(), 0.001)
    mg.testing.compare(lambda lib, x: lib.exp(x) / lib.sqrt(x * x + 1.0), "numpy", [0.5, 1.0, 2.0])
    y = leaf(dtype, *shape)
    (y == y).all()
    (y * 2.0).sum().backward()
    (leaf(dtype) * leaf(dtype)).square().backward()
    mg.arange(3).clone()


WORK: dict[str, Work] = {
    "matrix products": products,
    "convolution and pooling": images,
    "softmax, norms, cross_entropy": rows,
    "sums, means, extremes": reducers,
    "sorting and running sums": order,
    "indexing": indexing,
    "arithmetic": arithmetic,
    "optimizers": optimizers,
    "exponentials": unary("exp", "log", "sqrt", "tanh", "sigmoid"),
    "activations": unary("relu", "silu", "gelu"),
    "sines and errors": unary("sin", "cos", "erf", "abs"),
    "in place": in_place,
    "filling": filling,
    "training": training,
    "proofs": proofs,
}


def one(name: str, dtype: str, shape: tuple[int, int]) -> str:
    """Run one piece of work in a worker process, and return its name."""
    WORK[name](mg.as_dtype(dtype), shape)
    return name


def quiet() -> None:
    """Prepare a worker process; it needs no helper, because the others compile at the same time."""
    silence()
    require_cache()
    settings.compile_ahead = False


def expect_cache() -> None:
    """Raise KernelError if nothing can be compiled or stored."""
    if without_compiler():
        raise KernelError("warmup: nothing to compile with NUMBA_DISABLE_JIT=1; unset NUMBA_DISABLE_JIT")
    writable_folder()


def run(dtypes: tuple[str, ...] = ("float32",), jobs: int | None = None) -> int:
    """Compile common kernels for dtypes in `jobs` processes; return 1 if a piece of work fails, otherwise 0.

    Raises KernelError if nothing can be compiled or stored.
    """
    expect_cache()
    start, before = time.perf_counter(), kernels()
    tasks = [(name, dtype, shape) for dtype in dtypes for shape in SIZES[::-1] for name in WORK]
    # Each process starts a new interpreter, because a forked process would lack the threads of its parent.  Without
    # `quiet`, each would print the advice to run this command into the progress bar.
    with ProcessPoolExecutor(jobs or os.cpu_count(), get_context("spawn"), initializer=quiet) as pool:
        pending = {pool.submit(one, *task): task for task in tasks}
        failed = watch(pending, before)
    print(
        f"{kernels() - before} kernels compiled in {time.perf_counter() - start:.1f} s; "
        f"{cache_folder()} holds {kernels()}"
    )
    for line in failed:
        print(f"warmup: {line}", file=sys.stderr)
    return 1 if failed else 0


def run_script(script: str, arguments: list[str], jobs: int | None = None) -> int:
    """Run a script once, and compile the kernels that it needs in `jobs` processes; return 1 if one of them fails.

    Raises KernelError if nothing can be compiled or stored.
    """
    start, context = time.perf_counter(), get_context("spawn")
    expect_cache()
    received, sent = context.Pipe(duplex=False)
    child = context.Process(target=rehearse, args=(script, arguments, sent))
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # for the child only
    try:
        child.start()
    finally:
        del os.environ["NUMBA_DISABLE_JIT"]
    sent.close()
    failed, before, tasks = [], kernels(), dict[Future[Any], str]()
    with ProcessPoolExecutor(jobs or os.cpu_count(), context, initializer=quiet) as pool:
        tasks[pool.submit(team)] = "team"
        with suppress(EOFError):  # the script has ended
            while True:
                name, file = received.recv()
                tasks[pool.submit(stored, name, file)] = name
        failed = [f"{name}: {error}" for task, name in tasks.items() if (error := task.exception()) is not None]
    child.join()
    print(f"{quantity(len(tasks), 'kernel')} of {script} compiled after {time.perf_counter() - start:.1f} s; "
          f"{cache_folder()} holds {kernels()}, {kernels() - before} of them new")  # fmt: skip
    if child.exitcode:
        failed.append(f"{script} ended with the status {child.exitcode}")
    for line in failed:
        print(f"warmup: {line}", file=sys.stderr)
    return 1 if failed else 0


def stored(name: str, file: str) -> None:
    """Compile a kernel whose text is in the kernel cache, in a worker process, unless another process does."""
    keep(name, file, (cache_folder() / file).read_text(encoding="utf-8"), threading.Lock())


def watch(pending: dict[Future[str], tuple[Any, ...]], before: int) -> list[str]:
    """Wait for the pieces and show progress on a terminal; return the failures, one line each.

    Raises CacheError, and cancels the other pieces, if a piece cannot store a kernel.
    """
    failed, left = [], set(pending)
    with progress(total=len(pending), unit="piece") as bar:
        while left:
            # The first piece takes long, so the clock and the number of kernels are updated in the meantime.
            done, left = wait(left, timeout=0.5, return_when=FIRST_COMPLETED)
            bar.update(len(done))
            bar.set_postfix_str(f"{kernels() - before} kernels")
            for piece in done:
                error = piece.exception()
                if isinstance(error, CacheError):
                    for other in left:
                        other.cancel()
                    raise error
                if error is not None:
                    failed.append(f"{pending[piece]}: {type(error).__name__}: {error}")
    return failed


def kernels() -> int:
    """Return the number of kernels in the cache."""
    return sum(1 for _ in cache_folder().glob("*.py"))

"""Pictures for slides, 16:9 and large enough for the last row: `python -m notebooks.teaching.figures FOLDER`.

One or two for each chapter, drawn by running the code: graphs, memory and layouts by `mg.viz` as SVG, curves by
matplotlib as PNG.  Names of files begin with the chapter.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.data import load_digits
from minigrad.jitting.arena import temporaries_of
from minigrad.viz.picture import ACCENT, COOL, INK, LINE
from minigrad.viz.svg import KINDS, draw
from notebooks.teaching.bugs import bug
from notebooks.teaching.slides import halves, listing, whole

GREEN = KINDS["output"].line
LOOK = {
    "figure.figsize": (16, 9), "figure.dpi": 100, "font.size": 26, "axes.titlesize": 34, "axes.titlepad": 24,
    "lines.linewidth": 4, "lines.markersize": 12, "axes.spines.top": False, "axes.spines.right": False,
    "axes.linewidth": 2, "legend.frameon": False, "figure.constrained_layout.use": True, "text.color": INK,
    "axes.labelcolor": INK, "font.family": "sans-serif", "figure.constrained_layout.h_pad": 0.4,
    "figure.constrained_layout.w_pad": 0.4,
}  # fmt: skip


def tour() -> str:
    """Draw a graph with its gradients."""
    x = mg.Var(3.0, dtype="float64", name="x")
    y = x * x + x * 5.0
    grads = y.backward(retain_graph=True)
    return whole("The graph: ops and saved values", mg.viz.graph(y, grads, names={}).svg("builtin"))


def v_curve(plt: Any) -> Any:
    """Plot the truncation error on the right and the rounding error on the left."""
    steps = 10.0 ** (-np.arange(2, 64) / 4)

    def cubic(x: Any) -> Any:
        return x**3 - 2 * x

    figure, ax = plt.subplots()
    for name, error, colour in (
        ("one side", abs((cubic(2 + steps) - cubic(2.0)) / steps - 10), ACCENT),
        ("both sides", abs((cubic(2 + steps) - cubic(2 - steps)) / (2 * steps) - 10), COOL),
    ):
        ax.loglog(steps, np.maximum(error, 1e-16), "o-", label=name, color=colour)
    ax.set(xlabel="step h", ylabel="error of the difference quotient", title="A smaller step is not always better")
    ax.text(1e-15, 1e-9, "rounding error", color=LINE)
    ax.text(3e-3, 1e-9, "truncation error", color=LINE)
    ax.legend(loc="upper center")
    return figure


def scalar() -> str:
    """Draw a graph in which two paths meet."""
    a, b = mg.Var(2.0, dtype="float64", name="a"), mg.Var(-3.0, dtype="float64", name="b")
    y = a * b + a
    grads = y.backward(retain_graph=True)
    below = f"a is used twice: its gradient is b + 1 = {grads[a].item():g}"
    return whole("Where paths meet, gradients add up", mg.viz.graph(y, grads, names={}).svg("builtin"), below)


def stepper() -> str:
    """Draw one step of the stepper: the node, the incoming gradient, the outgoing gradients."""
    x = mg.Var([1.0, 2.0], dtype="float64", name="x")
    y = x.tanh() * x
    trace = mg.viz.step(y)
    frame = next(frame for frame in trace.frames if frame.title.startswith("mul"))
    nodes = [replace(node, tint="#f6d9ae") if node.id == frame.node else node for node in trace.graph.nodes]
    lines = [f"step {trace.frames.index(frame) + 1}: {frame.title}", f"incoming gradient {frame.arrived[0][1]['text']}"]
    for share in frame.shares:
        lines += [f"{share.operand} receives {share.text}", f"  = {share.value['text']}"]
    return halves("One step of the backward pass", draw(nodes, trace.graph.edges, title="stepper"), lines)


def checking(plt: Any) -> Any:
    """Plot the distance of a right and of a wrong rule from finite differences, for many steps."""
    steps = 10.0 ** (-np.arange(4, 56) / 4)
    x = np.array([0.4, -1.1, 0.9])
    numeric = [(np.tanh(x + h) - np.tanh(x - h)) / (2 * h) for h in steps]
    figure, ax = plt.subplots()
    for name, rule, colour in (
        ("a right rule", 1 - np.tanh(x) ** 2, COOL),
        ("1 % too large", 1.01 * (1 - np.tanh(x) ** 2), ACCENT),
    ):
        ax.loglog(steps, [max(1e-17, abs(rule - found).max()) for found in numeric], "o-", label=name, color=colour)
    ax.set(xlabel="step h", ylabel="rule minus finite difference", title="A wrong rule is wrong at every step")
    ax.legend()
    return figure


def strides() -> str:
    """Draw the layout of a transpose."""
    x = mg.arange(12).reshape(3, 4).t()
    return whole("A transpose moves no element", mg.viz.layout(x).svg, "The memory is the same; the strides differ.")


def broadcasting() -> str:
    """Draw a layout with a stride of 0."""
    b = mg.arange(3, dtype="float32").expand(4, 3)
    return whole(
        "Broadcasting is a stride of 0",
        mg.viz.layout(b).svg,
        "Each element is used four times, so four gradients are added.",
    )


def mountain(pieces: bool = False) -> str:
    """Plot the saved bytes during the forward and backward pass."""
    deep, h = mg.Var(mg.ones(64, 64) * 0.9, name="deep"), mg.Var(mg.ones(64, 64) * 0.5, name="start")

    def layers(h: Any, count: int) -> Any:
        for _ in range(count):
            h = (h * deep).tanh()
        return h

    if not pieces:
        return whole("Memory of sixteen layers, forward and backward", mg.viz.memory(layers(h, 16).sum()).svg)
    for _ in range(4):
        h = mg.checkpoint(layers, h, 4)
    return whole("The same network, with four checkpoints", mg.viz.memory(h.sum()).svg)


def jacobian(plt: Any) -> Any:
    """Draw a Jacobian with the column of a jvp and the row of a vjp."""
    w = mg.tensor(np.sin(np.arange(24.0)).reshape(4, 6))
    table = mg.func.jacrev(lambda x: (w @ x).tanh())(mg.linspace(-1.0, 1.0, 6, dtype="float64")).numpy()
    figure, ax = plt.subplots()
    ax.imshow(table, cmap="Blues", aspect="auto")
    for at, size, colour, text in (
        ((1.5, -0.5), (1, 4), ACCENT, "one jvp: a column"),
        ((-0.5, 1.5), (6, 1), GREEN, "one vjp: a row"),
    ):
        ax.add_patch(plt.Rectangle(at, *size, fill=False, edgecolor=colour, linewidth=10, label=text))
    ax.set(
        xlabel="inputs",
        ylabel="outputs",
        title="The Jacobian of 6 inputs and 4 outputs",
        xticks=range(6),
        yticks=range(4),
    )
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def orders(plt: Any) -> Any:
    """Plot a smooth step and its derivatives."""
    x = mg.Var(mg.linspace(-3.0, 3.0, 121, dtype="float64"))
    y = (2.0 * x).tanh()
    figure, ax = plt.subplots()
    for order in range(4):
        ax.plot(x.detach().numpy(), y.detach().numpy(), label=f"derivative {order}" if order else "the step")
        y = mg.grad(y.sum(), x, create_graph=True)
    ax.set(title="A derivative is a program: differentiate it again", xlabel="x")
    ax.legend()
    return figure


def seconds(function: Callable[[], Any], repeat: int = 5) -> float:
    """Return the shortest time of several calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def roofline(plt: Any) -> Any:
    """Plot the roofline of this machine, and the speed of three ops."""
    n, side = 4_000_000, 768
    x, result, matrix = mg.ones(n), mg.empty(n), mg.ones(side, side)
    target, square = np.empty(n, np.float32), np.ones((side, side), np.float32)
    band, peak = 8 * n / seconds(lambda: np.copyto(target, x.numpy())), 2 * side**3 / seconds(lambda: square @ square)
    points = {}
    for name, function, flops, moved in (
        ("add", lambda: mg.add(x, x, out=result), n, 12 * n),
        ("exp", lambda: mg.exp(x, out=result), 20 * n, 8 * n),
        ("matmul", lambda: matrix @ matrix, 2 * side**3, 12 * side**2),
    ):
        took = seconds(function)
        points[name] = flops / moved, flops / took / 1e9
        band, peak = max(band, moved / took), max(peak, flops / took)  # the largest measured values
    figure, ax = plt.subplots()
    work = np.logspace(-2, 3, 50)
    ax.loglog(work, np.minimum(work * band, peak) / 1e9, color=LINE, label="limit: memory, then arithmetic")
    for name, at in points.items():
        ax.loglog(*at, "o", color=COOL, markersize=22)
        ax.annotate(name, at, xytext=(24, -36), textcoords="offset points")
    ax.set(
        xlabel="operations per byte of memory traffic",
        ylabel="10$^9$ operations per second",
        title="How close are ops to the limit of the machine?",
    )
    ax.legend(loc="lower right")
    return figure


def own_op() -> str:
    """Show the loop that minigrad generates for a declaration."""
    x = mg.Var([1.0, 2.0])
    (path,) = mg.viz.kernels(x * x)
    text = path.read_text()
    lines = [line for line in text[text.index("def kernel") :].splitlines() if line.strip() and "# " not in line]
    marked = [k for k, line in enumerate(lines) if line.strip() == "z[i] = a * b"]
    return listing("The loop that minigrad generates for a * b", lines, marked)


def race() -> str:
    """Show a kernel with a race, and the report of the simulator."""
    planted = bug("b07")
    kernel = planted.text[planted.text.index("@mg.cuda.kernel") : planted.text.index("def run")].rstrip()
    lines = [line.replace("  # noqa: F821", "") for line in kernel.splitlines()]
    report = planted.report().partition(": ")[2]
    marked = [k for k, line in enumerate(lines) if "+=" in line]
    return listing("A race: one thread reads a value that another one writes", lines, marked, wrap(report, 78))


def training(plt: Any) -> Any:
    """Plot the loss of a network that reads digits, and its expected first value."""
    images, labels, _, _ = (mg.from_numpy(array) for array in load_digits())
    mg.manual_seed(0)
    w1, w2 = mg.Var(mg.randn(64, 64) * 0.125), mg.Var(mg.randn(64, 10) * 0.125)
    rng, losses = np.random.default_rng(0), []
    for _ in range(200):
        chosen = mg.from_numpy(rng.integers(0, len(images), 48))
        loss = mg.nn.functional.cross_entropy((images[chosen] @ w1).relu() @ w2, labels[chosen])
        for w, g in zip((w1, w2), mg.grad(loss, [w1, w2])):
            w.set(w - 0.1 * g)
        losses.append(loss.item())
    figure, ax = plt.subplots()
    ax.plot(losses, color=COOL)
    ax.axhline(math.log(10), color=ACCENT, linestyle="--", linewidth=3)
    ax.text(150, math.log(10) + 0.05, "log 10: the loss of guessing", color=ACCENT, ha="center")
    ax.set(xlabel="step", ylabel="loss", title="Two layers learn to read digits", ylim=(0, 2.8))
    return figure


def dependence(plt: Any) -> Any:
    """Plot the positions that the outputs of attention depend on, without and with the causal mask."""
    mg.manual_seed(0)
    vectors = mg.Var(mg.randn(12, 8))
    figure, axes = plt.subplots(1, 2)
    for ax, causal in zip(axes, (False, True)):
        y = mg.nn.functional.scaled_dot_product_attention(vectors, vectors, vectors, is_causal=causal)
        rows = [mg.grad(row.sum(), vectors, retain_graph=True).abs().sum(1).numpy() > 0 for row in y.unbind(0)]
        ax.imshow(np.stack(rows), cmap="Blues", vmin=0, vmax=1.5)
        ax.set(
            title="with the causal mask" if causal else "without a mask",
            xlabel="depends on position",
            xticks=range(0, 12, 2),
        )
    axes[0].set(ylabel="output at position")
    figure.suptitle("Without the mask, a position reads the answer", fontsize=38)
    return figure


def arena(plt: Any) -> Any:
    """Plot the memory of the temporaries of a training step over its launches."""
    w1, w2 = (mg.Var(mg.ones(*shape) * 0.1) for shape in ((16, 64), (10, 16)))
    velocities = [mg.zeros(w.shape) for w in (w1, w2)]

    def step(x: Any, target: Any) -> Any:
        hidden = mg.nn.functional.linear(x, w1).tanh()
        loss = mg.nn.functional.cross_entropy(mg.nn.functional.linear(hidden, w2), target)
        for w, velocity, g in zip((w1, w2), velocities, mg.grad(loss, [w1, w2])):
            with mg.no_grad():
                w.sub_(0.1 * velocity.mul_(0.9).add_(g))
        return loss

    images, labels, _, _ = (mg.from_numpy(array) for array in load_digits())
    jitted = mg.jit(step, fuse=False)
    for _ in range(2):
        jitted(images[:32], labels[:32])
    tape = jitted.recorded().tape
    figure, ax = plt.subplots()
    for k, part in enumerate(temporaries_of(tape)):
        at, size = (part.first - 0.5, part.offset / 1024), (part.last - part.first + 1, part.nbytes / 1024)
        colour = (COOL, ACCENT, GREEN)[k % 3]
        ax.add_patch(plt.Rectangle(at, *size, facecolor=colour, alpha=0.6, edgecolor=INK, linewidth=3))
    ax.set(
        xlabel="launch",
        ylabel="position in the arena, kB",
        title="Temporaries share memory when they are not live together",
        xlim=(-0.5, len(tape.items) - 0.5),
        ylim=(0, 1.04 * tape.arena / 1024),
    )
    return figure


def valley(plt: Any) -> Any:
    """Plot the error of a tone over its frequency, and gradient descent from two starts."""
    t = mg.linspace(0.0, 2.0, 200, dtype="float64")

    def loss_of(f: Any) -> Any:
        return (((-0.6 * t).exp() * ((2 * math.pi * t * f).cos() - (2 * math.pi * 5.3 * t).cos())) ** 2).mean()

    figure, ax = plt.subplots()
    frequencies = np.linspace(2.0, 9.0, 281)
    ax.plot(frequencies, [loss_of(f).item() for f in frequencies.tolist()], color=COOL)
    for start in (4.3, 5.7):
        f, path = mg.Var(start, dtype="float64"), []
        for _ in range(40):
            path.append((f.item(), loss_of(f).item()))
            f.set(f - 0.04 * mg.grad(loss_of(f), f))
        ax.plot(*zip(*path), "o", color=ACCENT)
        ax.annotate(f"from {start}", path[0], (start - 1.4 if start < 5 else start + 0.7, 0.22), color=ACCENT)
    ax.set(
        xlabel="frequency of the model, 1/s", ylabel="mean squared error", title="A gradient finds a tone from nearby"
    )
    return figure


FIGURES: dict[str, Callable[..., Any]] = {
    "00_graph": tour, "01_v_curve": v_curve, "02_paths_meet": scalar, "03_stepper": stepper, "04_checking": checking,
    "05_strides": strides, "06_broadcasting": broadcasting, "07_memory": mountain,
    "07_memory_less": lambda: mountain(pieces=True), "08_jacobian": jacobian, "09_orders": orders,
    "10_roofline": roofline, "11_kernel": own_op, "12_race": race, "13_training": training,
    "14_dependence": dependence, "15_arena": arena, "16_valley": valley,
}  # fmt: skip
CURVES = {v_curve, checking, jacobian, orders, roofline, training, dependence, arena, valley}


def write(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """Draw all figures, or the named ones, into a folder; return the paths of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in names or FIGURES:
        function = FIGURES[name]
        if function in CURVES:
            written.append(draw_curve(function, folder / f"{name}.png"))
        else:
            path = folder / f"{name}.svg"
            path.write_text(function(), encoding="utf-8")
            written.append(path)
    return written


def draw_curve(function: Callable[[Any], Any], path: Path) -> Path:
    """Save a matplotlib figure as a PNG of 1600 x 900 pixels."""
    import matplotlib
    from matplotlib import pyplot

    with matplotlib.rc_context(LOOK):
        figure = function(pyplot)
        figure.savefig(path)
        pyplot.close(figure)
    return path


def main(argv: Sequence[str] | None = None) -> int:
    """Draw into the folder that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m notebooks.teaching.figures", description="pictures for slides")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(FIGURES)} (default: all)")
    given = parser.parse_args(argv)
    unknown = [name for name in given.names if name not in FIGURES]
    if unknown:
        parser.error(f"there is no figure {unknown[0]!r}; there are {', '.join(FIGURES)}")
    for path in write(given.folder, given.names):
        print(path)
    return 0


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("agg")
    sys.exit(main())

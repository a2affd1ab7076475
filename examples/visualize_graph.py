"""Which ops does `backward` visit?  The graph of a small network as a picture and as text.

    python examples/visualize_graph.py [FOLDER]

The pictures are SVG files, which a browser can show.  Without a folder they are written to a new temporary folder.  If
Graphviz is installed, its `dot` arranges the boxes; otherwise minigrad's own layout does.
"""

import sys
import tempfile
from pathlib import Path

import minigrad as mg


def network() -> tuple[mg.Tensor, dict[str, mg.Var]]:
    """Return the loss of a network with three hidden units on two points, and its Vars."""
    mg.manual_seed(7)
    w1 = mg.Var(mg.randn(2, 3), name="w1")
    b1 = mg.Var(mg.zeros(3), name="b1")
    w2 = mg.Var(mg.randn(3, 1), name="w2")
    points = mg.tensor([[0.5, -1.0], [2.0, 0.25]])
    targets = mg.tensor([[1.0], [0.0]])
    hidden = (points @ w1 + b1).tanh()
    errors = hidden @ w2 - targets
    return errors.square().mean(), {"w1": w1, "b1": b1, "w2": w2}


def main() -> None:
    """Draw the graph before and after the backward pass, and print it as text."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="minigrad-graph-"))
    loss, variables = network()
    print(f"loss = {loss.item():.4f}")

    # Before the backward pass, each box shows the values that its op saved: tanh its result, matmul its operands.
    before = mg.viz.graph(loss)
    print(before, "->", before.save(folder / "recorded.svg"))

    # The same graph as text, with the line of each declaration and the file of each kernel.
    mg.explain(loss)

    # After the backward pass, the saved values are freed, and the Vars show their gradients.
    grads = loss.backward()
    after = mg.viz.graph(loss, grads)
    print(after, "->", after.save(folder / "gradients.svg"))
    for name, v in variables.items():
        print(f"|dloss/d{name}| = {grads[v].norm().item():.4f}")

    # DOT text can be pasted into any Graphviz viewer, so nothing has to be installed.
    print("DOT text:", len(after.dot().source.splitlines()), "lines")


if __name__ == "__main__":
    main()

"""What did `backward` walk?  The graph of a small network as a picture and in words.

    python examples/visualize_graph.py [FOLDER]

The pictures are SVG files that a browser shows; without a folder they go to a fresh temporary one.  `dot` of Graphviz
lays them out where it is installed, minigrad's own layout does where it is not.
"""

import sys
import tempfile
from pathlib import Path

import minigrad as mg


def network() -> tuple[mg.Tensor, dict[str, mg.Var]]:
    """The loss of a network with three hidden units on two points, and its Vars."""
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
    """Draw the graph twice, before and after backward, and tell its story."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="minigrad-graph-"))
    loss, variables = network()
    print(f"loss = {loss.item():.4f}")

    # Before backward each box says what its op keeps for the way back: tanh its result, matmul its operands.
    before = mg.viz.graph(loss)
    print(before, "->", before.save(folder / "recorded.svg"))

    # The same story in words, with the line of each declaration and the file of each kernel.
    mg.explain(loss)

    # After it the saved values are gone, and the Vars show what has arrived.
    grads = loss.backward()
    after = mg.viz.graph(loss, grads)
    print(after, "->", after.save(folder / "gradients.svg"))
    for name, v in variables.items():
        print(f"|dloss/d{name}| = {grads[v].norm().item():.4f}")

    # DOT text needs no program at all, and can be pasted into any Graphviz viewer.
    print("DOT text:", len(after.dot().source.splitlines()), "lines")


if __name__ == "__main__":
    main()

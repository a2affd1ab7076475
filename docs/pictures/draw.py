"""Draws the picture at the top of the README: `python docs/pictures/draw.py`."""

from pathlib import Path

import minigrad as mg

HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """A small network's graph."""
    mg.manual_seed(0)
    x = mg.randn(8, 4)
    w1, b1, w2 = mg.Var(mg.randn(4, 6), name="w1"), mg.Var(mg.zeros(6), name="b1"), mg.Var(mg.randn(6, 3), name="w2")
    loss = mg.nn.functional.cross_entropy((x @ w1 + b1).tanh() @ w2, mg.arange(8) % 3)
    mg.viz.graph(loss).save(folder / "graph.svg", engine="builtin")


if __name__ == "__main__":
    main()

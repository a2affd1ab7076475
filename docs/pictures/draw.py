"""Draws the pictures of README and site that are kept: `python -m docs.pictures.draw`."""

from pathlib import Path

import minigrad as mg
from docs.pictures import chapters, layers, stepper

HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """Draw the stepper of the README, the graph of the index, the layers of the architecture, and the animations."""
    (folder / "layers.svg").write_text(layers.draw(), encoding="utf-8")
    mg.manual_seed(0)
    x = mg.randn(8, 4)
    w1, b1, w2 = mg.Var(mg.randn(4, 6), name="w1"), mg.Var(mg.zeros(6), name="b1"), mg.Var(mg.randn(6, 3), name="w2")
    loss = mg.nn.functional.cross_entropy((x @ w1 + b1).tanh() @ w2, mg.arange(8) % 3)
    mg.viz.graph(loss).save(folder / "graph.svg", engine="builtin")
    (folder / "stepper.svg").write_text(stepper.draw(), encoding="utf-8")
    for name, animation in chapters.CHAPTERS.items():
        (folder / f"{name}.svg").write_text(animation(), encoding="utf-8")


if __name__ == "__main__":
    main()

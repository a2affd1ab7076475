"""Training steps of three programs of `examples/`, for minigrad and for `torch.compile`.

Both libraries run the classes of the example, which `language.program` imports.  A step is everything of a batch that
does not depend on the length of the training: the loss, the gradients, clipping, and the optimizer.  Dropout is off,
because each library draws other numbers, and the names of the LSTM have one length, so that nothing is packed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import minigrad as mg
from tests.benchmarks.jit.steps import Record, Step
from tests.benchmarks.language import program

NAME_LENGTH = 26  # characters, the mean over `character_names()`


@dataclass(frozen=True)
class Example:
    """A network and the data of one batch.

    file: the program in `examples/`.
    model: a function of the names of the program that returns its network.
    scores: a function of the network and a batch that returns a row of scores for each label.
    data: a function of a generator and the names of the program that returns the batch and its labels.
    optimizer, options: the name and the arguments of the optimizer.
    clip: the greatest norm of the gradients, or None.
    """

    file: str
    model: Callable[[dict[str, Any]], Any]
    scores: Callable[[Any, Any], Any]
    data: Callable[[np.random.Generator, dict[str, Any]], tuple[NDArray[Any], NDArray[Any]]]
    optimizer: str
    options: dict[str, float]
    clip: float | None


def classifier(names: dict[str, Any]) -> Any:
    """Return the network for digits, without dropout."""
    model = names["Reader"]()
    model.dropout.p = 0.0
    return model


def letters(names: dict[str, Any]) -> int:
    """Return the number of characters of names, with the one that ends a name."""
    return len(set("".join(names["character_names"]()))) + 1


def symbols(names: dict[str, Any]) -> int:
    """Return the number of characters of the text."""
    return len(set(names["topics"]()))


def texts(rng: np.random.Generator, characters: int, shape: tuple[int, int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return texts and the character after each of their characters."""
    return rng.integers(0, characters, shape), rng.integers(0, characters, shape).ravel()


EXAMPLES = {
    "CNN": Example(
        "digits_cnn", classifier, lambda model, x: model(x),
        lambda rng, names: (rng.standard_normal((64, 1, 8, 8)).astype(np.float32), rng.integers(0, 10, 64)),
        "AdamW", {"lr": 1e-3, "weight_decay": 0.05}, None,
    ),
    "LSTM": Example(
        "lstm_names", lambda names: names["Speller"](letters(names)),
        lambda model, x: model.scores(model.lstm(model.letters(x))[0]).flatten(0, 1),
        lambda rng, names: texts(rng, letters(names), (64, NAME_LENGTH)), "Adam", {"lr": 4e-3}, 1.0,
    ),
    "transformer": Example(
        "char_transformer", lambda names: names["Writer"](symbols(names)),
        lambda model, x: model(x).flatten(0, 1), lambda rng, names: texts(rng, symbols(names), (32, names["LENGTH"])),
        "AdamW", {"lr": 2e-3}, 1.0,
    ),
}  # fmt: skip


def started(name: str) -> tuple[dict[str, NDArray[Any]], NDArray[Any], NDArray[Any]]:
    """Return the first parameters and buffers of an example's network, by name, a batch and its labels."""
    example = EXAMPLES[name]
    names = program("minigrad", example.file)
    mg.manual_seed(0)
    state = {key: np.array(value.numpy()) for key, value in example.model(names).state_dict().items()}
    return state, *example.data(np.random.default_rng(0), names)


def step_of(name: str, library: str, record: Record, compiled: Record) -> Step:
    """Return the training step of an example.

    record: a function that changes the whole step, as `mg.jit` does.
    compiled: a function that changes the loss, as `torch.compile` does; PyTorch runs optimizers outside of it.
    """
    m, example = importlib.import_module(library), EXAMPLES[name]
    state, *arrays = started(name)
    model = example.model(program(library, example.file))
    model.load_state_dict({key: m.tensor(value) for key, value in state.items()})
    optimizer = getattr(m.optim, example.optimizer)(model.parameters(), fused=True, **example.options)

    @compiled
    def loss_of(x: Any, labels: Any) -> Any:
        return m.nn.functional.cross_entropy(example.scores(model, x), labels)

    @record
    def step(x: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(x, labels)
        loss.backward()
        if example.clip is not None:
            m.nn.utils.clip_grad_norm_(model.parameters(), example.clip)
        optimizer.step()
        return (loss.detach(),)

    data = [m.tensor(array) for array in arrays]
    return lambda: step(*data)

"""An LSTM learns the names of Unicode's characters, and invents new ones.

    python examples/lstm_names.py [--steps 800] [--seed 0]

Names such as "GREEK SMALL LETTER ALPHA" are sequences of different lengths: a batch is packed, so no time is spent on
padding.  A tenth of the names is the test set; its loss is in bits per character.  `lstm_names.jsonl` has the losses.
"""

import argparse
import math

import minigrad as mg
from minigrad import nn
from minigrad.data import DataLoader, Subset, character_names, random_split
from minigrad.nn.utils.rnn import PackedSequence, pack_sequence

F = nn.functional
SIZE = 128
END = "\n"  # begins and ends a name


class Speller(nn.Module):
    """A vector for each character, an LSTM over these vectors, and a score for every next character."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(characters, 32)
        self.lstm = nn.LSTM(32, SIZE, batch_first=True)
        self.scores = nn.Linear(SIZE, characters)

    def forward(self, names: PackedSequence) -> mg.Tensor:
        vectors = PackedSequence(self.letters(names.data), *names[1:])
        return self.scores(self.lstm(vectors)[0].data)


def packed(names: list[mg.Tensor]) -> tuple[PackedSequence, mg.Tensor]:
    """Return a packed batch of names twice: without the last character, and without the first one."""
    inputs, targets = (pack_sequence(part, enforce_sorted=False) for part in (
        [name[:-1] for name in names], [name[1:] for name in names]))  # fmt: skip
    return inputs, targets.data


@mg.no_grad()
def bits_per_character(model: nn.Module, names: Subset) -> float:
    """Return the mean bits over all characters of names, including the end of each name."""
    total = count = 0.0
    for inputs, targets in DataLoader(names, batch_size=256, collate_fn=packed):
        total += F.cross_entropy(model(inputs), targets, reduction="sum").item()
        count += len(targets)
    return total / count / math.log(2)


@mg.no_grad()
def invented(model: Speller, vocabulary: str, longest: int = 60) -> str:
    """Return a name; each of its characters is drawn by its probability."""
    name, state = END, None
    while len(name) < longest and (len(name) == 1 or name[-1] != END):
        x = model.letters(mg.tensor([[vocabulary.index(name[-1])]]))
        y, state = model.lstm(x, state)
        name += vocabulary[mg.multinomial(F.softmax(model.scores(y[0, 0]) / 0.7, -1), 1).item()]
    return name.strip(END)


def main() -> None:
    """Train, test, and let the model invent names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    mg.manual_seed(options.seed)
    names = character_names()
    vocabulary = END + "".join(sorted(set("".join(names))))
    ids = [mg.tensor([vocabulary.index(c) for c in f"{END}{name}{END}"]) for name in names]
    train, test = random_split(ids, [0.9, 0.1])
    model = Speller(len(vocabulary))
    optimizer = mg.optim.Adam(model.parameters(), lr=4e-3)
    schedule = mg.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    sampler = mg.data.RandomSampler(train, num_samples=options.steps * 64, replacement=True)
    with mg.viz.Log("lstm_names.jsonl", total=options.steps) as log:
        for inputs, targets in DataLoader(train, batch_size=64, sampler=sampler, collate_fn=packed):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            log(bits=loss.item() / math.log(2))
    print(f"held-out names: {bits_per_character(model, test):.2f} bits per character")
    print("\n".join(f"  {invented(model, vocabulary)}" for _ in range(8)))


if __name__ == "__main__":
    main()

"""A small GPT learns the language reference of Python, character by character, and writes some of its own.

    python examples/char_transformer.py [--steps 2500] [--seed 0]

The text is `pydoc_data.topics`, a module of Python; its last tenth is the test set.  The program prints bits per
character, also of a model that counts which character follows the last four.  `char_transformer.csv` has the losses.
`python -m tests.benchmarks --only transformer` trains the same network with PyTorch as well.
"""

import argparse
import math
from collections import Counter, defaultdict

import minigrad as mg
from minigrad import nn
from minigrad.data import Characters, DataLoader, RandomSampler, Subset, topics

F = nn.functional
LENGTH, SIZE, HEADS, LAYERS = 64, 128, 4, 2


class Layer(nn.Module):
    """Causal attention and two linear maps; the result of each part is added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(SIZE), nn.LayerNorm(SIZE)
        self.parts, self.joined = nn.Linear(SIZE, 3 * SIZE), nn.Linear(SIZE, SIZE)
        self.maps = nn.Sequential(nn.Linear(SIZE, 4 * SIZE), nn.GELU(), nn.Linear(4 * SIZE, SIZE))

    def forward(self, x: mg.Tensor) -> mg.Tensor:
        batch, length, _ = x.shape
        heads = self.parts(self.norm1(x)).reshape(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*heads.unbind(0), is_causal=True)
        x = x + self.joined(y.transpose(1, 2).reshape(batch, length, SIZE))
        return x + self.maps(self.norm2(x))


class Writer(nn.Module):
    """A GPT: vectors for characters and positions, layers, and a score for every next character."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.letters, self.positions = nn.Embedding(characters, SIZE), nn.Embedding(LENGTH, SIZE)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.norm, self.scores = nn.LayerNorm(SIZE), nn.Linear(SIZE, characters)
        for p in self.parameters():
            if p.ndim > 1:
                nn.init.normal_(p, std=0.02 if p.shape[0] == characters else 1 / math.sqrt(SIZE))

    def forward(self, text: mg.Tensor) -> mg.Tensor:
        x = self.letters(text) + self.positions(mg.arange(text.shape[1]))
        return self.scores(self.norm(self.layers(x)))


def counted(train: str, test: str, order: int) -> float:
    """Return the bits per character of a model that counts which character follows the last `order` ones."""
    follows: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for k in range(order, len(train)):
        follows[train[k - order : k]][train[k]] += 1
    single, bits = Counter(train), 0.0
    for k in range(order, len(test)):
        row = follows[test[k - order : k]]
        guess = (single[test[k]] + 1) / (len(train) + len(single))
        bits -= math.log2((row[test[k]] + 2 * guess) / (row.total() + 2))
    return bits / (len(test) - order)


@mg.no_grad()
def bits_per_character(model: nn.Module, windows: Characters) -> float:
    """Return the mean bits per character over windows that do not overlap."""
    total = count = 0.0
    for x, y in DataLoader(Subset(windows, range(0, len(windows), LENGTH)), batch_size=64):
        total += F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum").item()
        count += y.numel()
    return total / count / math.log(2)


@mg.no_grad()
def written(model: nn.Module, windows: Characters, start: str, count: int) -> str:
    """Return a text that the model continues; each character is drawn by its probability."""
    ids = mg.tensor([windows.vocabulary.index(c) for c in start])
    for _ in range(count):
        scores = model(ids[-LENGTH:].unsqueeze(0))[0, -1]
        ids = mg.cat([ids, mg.multinomial(F.softmax(scores / 0.8, -1), 1)])
    return windows.decode(ids)


def main() -> None:
    """Train, test, and let the model write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    mg.manual_seed(options.seed)
    text = topics()
    cut = len(text) * 9 // 10
    vocabulary = "".join(sorted(set(text)))
    train, test = (Characters(part, LENGTH, vocabulary) for part in (text[:cut], text[cut:]))
    model = Writer(len(vocabulary))
    optimizer = mg.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = mg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=options.steps, pct_start=0.1)
    sampler = RandomSampler(train, replacement=True, num_samples=options.steps * 32)
    with mg.viz.Log("char_transformer.csv", total=options.steps) as log:
        for x, y in DataLoader(train, batch_size=32, sampler=sampler):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            log(bits=loss.item() / math.log(2))
    print(f"held-out text: {bits_per_character(model, test):.2f} bits per character; "
          f"counting the last four: {counted(text[:cut], text[cut:], 4):.2f}")  # fmt: skip
    print(written(model, train, "The generator ", 300))


if __name__ == "__main__":
    main()

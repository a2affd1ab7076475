"""Probabilities of three classes for each of four samples. Training goes well; in use, where samples come one by one,
every sample has probability 1 for every class."""

import minigrad as mg


def probabilities(scores):
    """Scores (samples, classes) to probabilities of the same shape."""
    return scores.softmax(0)


scores = mg.tensor([[0.5, -1.0, 0.1], [2.0, 0.3, -0.4], [-0.7, 1.1, 0.6], [0.2, 0.9, -1.5]], dtype="float64")

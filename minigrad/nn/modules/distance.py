"""Distance and similarity of pairs of vectors."""

from __future__ import annotations

from minigrad.nn import functional as F
from minigrad.nn.modules.derived import FromFunction

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(FromFunction, of=F.pairwise_distance):
    """Return the p-norm of x1 - x2 + eps along the last dim."""

    p: float = 2.0
    eps: float = 1e-6
    keepdim: bool = False


class CosineSimilarity(FromFunction, of=F.cosine_similarity):
    """Return the cosine of the angle between vectors along `dim`; `eps` is the lower bound of their norms."""

    dim: int = 1
    eps: float = 1e-8

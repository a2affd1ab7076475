"""Embedding tables: look up rows by index, and reduce bags of rows."""

from __future__ import annotations

from typing import Any, Self

from minigrad.errors import ArgumentError, ShapeError
from minigrad.nn import functional as F
from minigrad.nn.init import normal_
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe


class _Table(Module):
    """A table (num_embeddings, embedding_dim) of rows; row `padding_idx` is initially 0 and receives no gradient."""

    _shown = "num_embeddings embedding_dim /"
    _shown_unless = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False,
                     "sparse": False}  # fmt: skip

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentError(
                f"{type(self).__name__}: padding_idx must be from {-num_embeddings} to {num_embeddings - 1}, got "
                f"{padding_idx}; pass padding_idx=0, for example"
            )
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx if padding_idx is None or padding_idx >= 0 else num_embeddings + padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is not None and _weight.shape != (num_embeddings, embedding_dim):
            raise ShapeError(
                f"{type(self).__name__}: the weight must have the shape {(num_embeddings, embedding_dim)}, got "
                f"{describe(_weight)}; reshape it, or change num_embeddings and embedding_dim"
            )
        values = empty(num_embeddings, embedding_dim, device=device, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(values, requires_grad=not _freeze)  # type: ignore[call-arg]
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw normal initial values, and set the row `padding_idx` to 0."""
        normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight.detach()[self.padding_idx].fill_(0)


def _sizes(embeddings: Tensor) -> tuple[int, ...]:
    """Return the shape of an existing table.  Raises ShapeError unless it has 2 dims."""
    if embeddings.ndim != 2:
        raise ShapeError(
            "from_pretrained: embeddings must have 2 dims, (num_embeddings, embedding_dim), got "
            f"{describe(embeddings)}; reshape it"
        )
    return embeddings.shape


class Embedding(_Table):
    """Return the rows of a trainable table at the positions that an integer tensor contains.

    padding_idx: Index of a row that is initially 0 and receives no gradient.
    max_norm: Upper bound of the norm of a row. A row that is read and has a larger norm is first rescaled to `max_norm`
    in place.
    norm_type: Order p of the norm for `max_norm`.
    scale_grad_by_freq: Whether the gradient of a row is divided by the number of times that the row occurs in a call.
    sparse: Has no effect: gradients are always dense, with the same values.
    device and dtype: Device and dtype of the table, whose initial values are standard normal.

    >>> table = mg.nn.Embedding(10, 3, padding_idx=0)
    >>> table(mg.tensor([[1, 0]])).shape, table(mg.tensor([0])).tolist()
    ((1, 2, 3), [[0.0, 0.0, 0.0]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)  # fmt: skip

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Self:  # fmt: skip
        """Return an Embedding whose table is an existing matrix.

        embeddings: Matrix (num_embeddings, embedding_dim). The table shares its memory.
        freeze: If True, the table does not require a gradient and is not trained.
        padding_idx, max_norm, norm_type, scale_grad_by_freq and sparse: Arguments of the constructor.

        Raises ShapeError if `embeddings` does not have 2 dims.
        """
        rows, columns = _sizes(embeddings)
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)


class EmbeddingBag(_Table):
    """Return the sum, mean or maximum of the rows of each bag of indices.

    max_norm, norm_type, scale_grad_by_freq and sparse: The same as for `Embedding`.
    mode ({"mean", "sum", "max"}): Reduction over the rows of a bag.
    padding_idx: Index of a row that is excluded from the bags.
    device and dtype: Device and dtype of the table, whose initial values are standard normal.

    The module is called with (input, offsets, per_sample_weights). If the input has 2 dims, each row is a bag. If it
    has 1 dim, `offsets` contains the start of each bag.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
                         _weight, False, device, dtype)  # fmt: skip
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                               self.mode, self.sparse, per_sample_weights, self.include_last_offset,
                               self.padding_idx)  # fmt: skip

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, mode={self.mode!r}"

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:  # fmt: skip
        """Return a table with the given rows; the arguments are the same as for `Embedding.from_pretrained`."""
        rows, columns = _sizes(embeddings)
        bag = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
                  include_last_offset, padding_idx)  # fmt: skip
        bag.weight.requires_grad_(not freeze)
        return bag

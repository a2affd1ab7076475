"""Embedding tables: look up rows by index, and reduce bags of rows."""

from __future__ import annotations

from typing import Any, Self

from minigrad.core.conditions import Ndim, Shaped
from minigrad.core.roles import Number
from minigrad.nn import functional as F
from minigrad.nn.init import normal_
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.creation import empty
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor

EXISTING = Ndim(2, layout="(num_embeddings, embedding_dim)", advice="reshape it")  # a table to copy


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
        name, n = type(self).__name__, num_embeddings
        Number(-n, n - 1, whole=True, noun="row index", example=0, optional=True).expect(name, padding_idx=padding_idx)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx if padding_idx is None or padding_idx >= 0 else num_embeddings + padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        advice = "reshape it, or change num_embeddings and embedding_dim"
        Shaped(f"{num_embeddings}, {embedding_dim}", advice=advice).expect(name, _weight=_weight)
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
        EXISTING.expect("from_pretrained", embeddings=embeddings)
        rows, columns = embeddings.shape
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
        EXISTING.expect("from_pretrained", embeddings=embeddings)
        rows, columns = embeddings.shape
        bag = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
                  include_last_offset, padding_idx)  # fmt: skip
        bag.weight.requires_grad_(not freeze)
        return bag

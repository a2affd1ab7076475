"""The transforms of samples, under the names of `torch.distributions.transforms`."""

from minigrad.declare.advice import present
from minigrad.distributions.elementwise_transforms import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from minigrad.distributions.transform_base import ComposeTransform, IndependentTransform, Transform
from minigrad.distributions.vector_transforms import (
    CatTransform,
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)

identity_transform = ComposeTransform([])
NAMES = (
    AbsTransform, AffineTransform, CatTransform, ComposeTransform, CorrCholeskyTransform,
    CumulativeDistributionTransform, ExpTransform, IndependentTransform, LowerCholeskyTransform,
    PositiveDefiniteTransform, PowerTransform, ReshapeTransform, SigmoidTransform, SoftmaxTransform, SoftplusTransform,
    StackTransform, StickBreakingTransform, TanhTransform, Transform,
)  # fmt: skip
present(globals(), {thing.__name__: thing for thing in NAMES})

"""The transforms of samples, under the names of `torch.distributions.transforms`."""

from minigrad.declare.advice import imported, present
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
present(globals(), imported(globals()))

"""Learning rate schedules under PyTorch's names, with PyTorch's values at each step.

A schedule changes `lr` in the optimizer's groups.  Launches receive `lr` as an argument, so nothing is recompiled.
"""

from minigrad.declare.advice import imported, present
from minigrad.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from minigrad.optim.lr_scheduler.base import LRScheduler
from minigrad.optim.lr_scheduler.composite import ChainedScheduler, SequentialLR
from minigrad.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from minigrad.optim.lr_scheduler.factors import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from minigrad.optim.lr_scheduler.plateau import ReduceLROnPlateau

present(globals(), imported(globals()) | {"_LRScheduler": LRScheduler})

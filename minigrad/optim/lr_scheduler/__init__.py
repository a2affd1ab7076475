"""Learning rate schedules under PyTorch's names, with PyTorch's values at each step.

A schedule changes `lr` in the optimizer's groups.  Launches receive `lr` as an argument, so nothing is recompiled.
"""

from minigrad.declare.advice import present
from minigrad.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from minigrad.optim.lr_scheduler.base import LRScheduler
from minigrad.optim.lr_scheduler.composite import ChainedScheduler, SequentialLR
from minigrad.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from minigrad.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from minigrad.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from minigrad.optim.lr_scheduler.plateau import ReduceLROnPlateau

SCHEDULERS = (
    ChainedScheduler, ConstantLR, CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, ExponentialLR, LRScheduler,
    LambdaLR, LinearLR, MultiStepLR, MultiplicativeLR, OneCycleLR, PolynomialLR, ReduceLROnPlateau, SequentialLR,
    StepLR,
)  # fmt: skip
present(globals(), {each.__name__: each for each in SCHEDULERS} | {"_LRScheduler": LRScheduler})

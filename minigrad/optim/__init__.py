"""Optimizers under PyTorch's names: most are an update rule that one launch applies to all parameters of a group.

`lr_scheduler` contains learning rate schedules, `swa_utils` averages of models, `lists` ops on lists of tensors.
"""

from minigrad.declare.advice import imported, present
from minigrad.declare.many import many as rule
from minigrad.optim import lists, lr_scheduler, swa_utils
from minigrad.optim.adafactor import Adafactor
from minigrad.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from minigrad.optim.adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from minigrad.optim.lbfgs import LBFGS
from minigrad.optim.muon import Muon
from minigrad.optim.optimizer import Optimizer
from minigrad.optim.sgd import SGD
from minigrad.optim.stepping import RuleOptimizer

present(globals(), imported(globals())
        | {"lists": lists, "rule": rule, "lr_scheduler": lr_scheduler, "swa_utils": swa_utils})  # fmt: skip

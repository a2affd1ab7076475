"""Special functions under PyTorch's names and arguments: `mg.special.digamma(x)`.

Nothing is computed here: each name is an op of `minigrad/ops`, and most are in `mg` too.
"""

from typing import TYPE_CHECKING, NoReturn

from minigrad.api.absent import absent
from minigrad.declare.names import MG, SPECIAL, listed, namespaces

# The names of torch.special for what is in `mg`, and what that is called there.
SAME = {name: name for name in "digamma erf erfc erfinv exp2 expm1 i0 log1p log_softmax logit logsumexp ndtr "
          "polygamma round sinc softmax xlogy".split()}  # fmt: skip
SAME |= {"expit": "sigmoid", "gammaln": "lgamma", "multigammaln": "mvlgamma", "psi": "digamma"}

namespaces[SPECIAL] |= {name: namespaces[MG][ours] for name, ours in SAME.items()}
globals().update(namespaces[SPECIAL])
__all__ = sorted(namespaces[SPECIAL])
__dir__ = listed(__all__)

if not TYPE_CHECKING:  # a type checker would take every name for one that is there

    def __getattr__(name: str) -> NoReturn:
        """Fail, and say what to write instead of a name that torch.special has."""
        raise absent(__name__, name)

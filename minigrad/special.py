"""Special functions with PyTorch's names and arguments: `mg.special.digamma(x)`.

This file computes nothing: each name is an op of `minigrad/ops`, and most names are also in `mg`.
"""

from minigrad.declare.advice import present
from minigrad.declare.names import MG, SPECIAL, namespaces

# Names of torch.special for functions of `mg`, with their names in `mg`.
SAME = {name: name for name in "digamma erf erfc erfinv exp2 expm1 i0 log1p log_softmax logit logsumexp ndtr "
          "polygamma round sinc softmax xlogy".split()}  # fmt: skip
SAME |= {"expit": "sigmoid", "gammaln": "lgamma", "multigammaln": "mvlgamma", "psi": "digamma"}
SAME |= {"gammainc": "igamma", "gammaincc": "igammac"}

namespaces[SPECIAL] |= {name: namespaces[MG][ours] for name, ours in SAME.items()}
present(globals(), namespaces[SPECIAL])

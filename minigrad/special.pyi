"""The names of minigrad.special.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.core.dtype import DType
from minigrad.runtime.tensor import Tensor
__version__: str


def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the derivative of lgamma; -inf at 0, inf at -0.0, and nan at negative integers."""

def entr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return -x*log(x); 0 at 0, and -inf for x < 0.  Gradient: g*(-1 - log(x)); inf at 0, and nan for x < 0."""

def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the error function of x.  Gradient: g*2/sqrt(pi)*exp(-x**2)."""

def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1 - erf(x) without cancellation for large x.  Gradient: -g*2/sqrt(pi)*exp(-x**2)."""

def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the y with erf(y) = x; -inf at -1, inf at 1, and nan outside [-1, 1]."""

def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 2**x.  Gradient: g*2**x*ln(2)."""

def expit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1 - y) with the result y."""

def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return exp(x) - 1 without cancellation near 0.  Gradient: g*exp(x)."""

def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the regularized lower incomplete gamma function of the order `input` from 0 to `other`."""

def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the regularized upper incomplete gamma function, 1 - igamma(input, other), without cancellation."""

def gammaln(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(|gamma(x)|); inf at 0 and at negative integers.  Gradient: g*digamma(x)."""

def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function I0: the mean of exp(x*cos(t)).  Gradient: g*i1(x)."""

def i0e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return exp(-|x|) * I0(x), the Bessel function of `i0`.  Gradient: g*(i1e(x) - sign(x)*y), 0 at 0."""

def i1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function I1, the derivative of I0.  Gradient: g*(i0(x) - y/x), g/2 at 0."""

def i1e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return exp(-|x|) * I1(x), the Bessel function of `i1`.  Gradient: g*(i0e(x) - y*(sign(x) + 1/x)), g/2 at 0."""

def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(1 + x) without cancellation near 0.  Gradient: g/(1+x)."""

def log_ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(ndtr(x)) without underflow."""

def log_softmax(input: Tensor, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(softmax(input)) along `dim`, computed as input - log(sum(exp(input))), which does not underflow."""

def logit(input: Tensor, eps: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(x/(1-x)), the inverse of sigmoid; nan for x outside [0, 1]."""

def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(sum(exp(input))) over `dim`, without overflow of the exponentials."""

def multigammaln(input: Tensor, p: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension p."""

def ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the cumulative distribution function of the standard normal distribution."""

def ndtri(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the y with ndtr(y) = x; -inf at 0, inf at 1, and nan outside [0, 1]."""

def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th derivative of digamma.  Gradient: g*polygamma(n + 1, input)."""

def psi(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the derivative of lgamma; -inf at 0, inf at -0.0, and nan at negative integers."""

def round(input: Tensor, *, decimals: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return x rounded to the nearest integer, or to the nearest multiple of 10**-decimals."""

def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return sin(pi*x)/(pi*x), which is 1 at 0.  Gradient: g*(cos(pi*x) - y)/x with the result y; 0 at 0."""

def softmax(input: Tensor, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return exp(input) / sum(exp(input)) along `dim`; the input is first shifted by its maximum to avoid overflow."""

def xlog1py(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input*log(1 + other); where input is 0, the result is 0 unless other is nan."""

def xlogy(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input*log(other); where input is 0, the result is 0 unless other is nan."""

def zeta(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the Hurwitz zeta function: the sum of (k + other)**-input over all k >= 0."""

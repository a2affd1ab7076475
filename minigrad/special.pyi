"""The names of minigrad.special.  Written by `python -m minigrad.cli.stubs`."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from minigrad.autodiff.grads import GradStore
from minigrad.core.dtype import DType
from minigrad.runtime.tensor import Tensor
__version__: str


def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the derivative of lgamma: -inf at 0, inf at -0.0, nan at negative integers."""

def entr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return -x*log(x), 0 at 0 and -inf below.  Gradient: g*(-1 - log(x)), inf at 0, nan below."""

def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the error function.  Gradient: g*2/sqrt(pi)*exp(-x**2)."""

def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1 - erf(x) without cancellation for large x.  Gradient: -g*2/sqrt(pi)*exp(-x**2)."""

def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the y with erf(y) = x: infinities at -1 and 1, nan beyond.  Gradient: g*sqrt(pi)/2*exp(y**2)."""

def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 2**x.  Gradient: g*2**x*ln(2)."""

def expit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return 1/(1 + exp(-x)), without overflow.  Gradient: g*y*(1-y)."""

def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return exp(x) - 1 without cancellation near 0.  Gradient: g*exp(x)."""

def gammaln(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return log(|gamma(x)|), inf at 0 and at negative integers.  Gradient: g*digamma(x)."""

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
    """Return log(ndtr(x)), without underflow.  Gradient: g*exp(-x**2/2)/sqrt(2*pi)/ndtr(x), about -g*x far below 0."""

def log_softmax(input: Tensor, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(softmax(input)) along `dim`, without leaving the logarithm.  Gradient: g - exp(y) * sum(g)."""

def logit(input: Tensor, eps: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(x/(1-x)), the inverse of sigmoid, nan outside of [0, 1]; eps: of x in [eps, 1 - eps]."""

def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return log(sum(exp(x))) over `dim`; nothing overflows.  Gradient: g times the softmax."""

def multigammaln(input: Tensor, p: builtins.int, *, out: Tensor | None = ...) -> Tensor:
    """Return the log of the multivariate gamma function of p dims: a sum of lgamma(input - k/2), and p(p-1)/4*log(pi)."""

def ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the normal distribution function, with its negative tail to full relative accuracy."""

def ndtri(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the y with ndtr(y) = x: infinities at 0 and 1, nan outside.  Gradient: g*sqrt(2*pi)*exp(y**2/2)."""

def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the n-th derivative of digamma.  Gradient: g*polygamma(n + 1, x)."""

def psi(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the derivative of lgamma: -inf at 0, inf at -0.0, nan at negative integers."""

def round(input: Tensor, *, decimals: builtins.float = ..., out: Tensor | None = ...) -> Tensor:
    """Return the nearest integer, or multiple of 10**-decimals; ties go to even: round(0.5) = 0, round(1.5) = 2."""

def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return sin(pi*x)/(pi*x), 1 at 0.  Gradient: g*(cos(pi*x) - y)/x, 0 at 0."""

def softmax(input: Tensor, dim: builtins.int, dtype: Any = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return exp(input) / sum(exp(input)) along `dim`, shifted by the maximum so that nothing overflows."""

def xlog1py(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input*log(1 + other), 0 where input is 0 unless other is nan."""

def xlogy(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return input*log(other), 0 where input is 0 unless other is nan."""

def zeta(input: Tensor | builtins.float, other: Tensor | builtins.float, *, out: Tensor | None = ...) -> Tensor:
    """Return the sum of (k + other)**-input over all k from 0 on: inf for input 1, nan below."""

"""The update rules: a rule is one scalar function, which is also the formula of its optimizer.

`p` is an element of a parameter, and `g` the element of its gradient; the tensors between them are the states, under
PyTorch's names.  A rule returns the new values of the parameter and of the states.  Arguments after `*` are
hyperparameters; `step` counts from 1.  Expressions of hyperparameters alone are computed once per launch, in float64.
"""

import math

from minigrad.declare.many import many

# ---- momentum -------------------------------------------------------------------------------------------------------


@many
def sgd(p, g, *, lr, weight_decay, maximize):  # type: ignore[no-untyped-def]
    """Take a step of gradient descent."""
    g = -g if maximize else g
    return p - lr * (g + weight_decay * p)


@many
def sgd_momentum(p, momentum_buffer, g, *, lr, momentum, dampening, weight_decay, nesterov, maximize, first):  # type: ignore[no-untyped-def]
    """Take a step along a running sum of gradients; dampening does not apply to the first gradient."""
    g = -g if maximize else g
    g = g + weight_decay * p
    momentum_buffer = g if first else momentum * momentum_buffer + (1 - dampening) * g
    return p - lr * (g + momentum * momentum_buffer if nesterov else momentum_buffer), momentum_buffer


@many
def muon_momentum(momentum_buffer, update, g, *, momentum, nesterov):  # type: ignore[no-untyped-def]
    """Return the running mean of a matrix's gradients, and the direction that is orthogonalized next."""
    momentum_buffer = momentum_buffer + (g - momentum_buffer) * (1 - momentum)
    return momentum_buffer, g + (momentum_buffer - g) * momentum if nesterov else momentum_buffer


@many
def muon(p, update, *, lr, rate, weight_decay):  # type: ignore[no-untyped-def]
    """Take a step along an orthogonal matrix; `rate` is lr, adjusted to the shape of the parameter."""
    return p * (1 - lr * weight_decay) - rate * update


# ---- moments --------------------------------------------------------------------------------------------------------


@many
def adam(p, exp_avg, exp_avg_sq, g, *, lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step):  # type: ignore[no-untyped-def]
    """Take a step along the mean of gradients, divided by the root of the mean of their squares."""
    g = -g if maximize else g
    g = g if decoupled else g + weight_decay * p
    p = p - lr * weight_decay * p if decoupled else p
    exp_avg = exp_avg + (g - exp_avg) * (1 - beta1)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * g * g
    root = math.sqrt(exp_avg_sq) * (1 / math.sqrt(1 - beta2**step))
    return p - lr / (1 - beta1**step) * exp_avg / (root + eps), exp_avg, exp_avg_sq


@many
def adamw(p, exp_avg, exp_avg_sq, g, *, lr, beta1, beta2, eps, weight_decay, maximize, step):  # type: ignore[no-untyped-def]
    """Take a step of Adam with decoupled weight decay."""
    g = -g if maximize else g
    exp_avg = exp_avg + (g - exp_avg) * (1 - beta1)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * g * g
    root = math.sqrt(exp_avg_sq) * (1 / math.sqrt(1 - beta2**step))
    p = p * (1 - lr * weight_decay)
    return p - lr / (1 - beta1**step) * exp_avg / (root + eps), exp_avg, exp_avg_sq


@many
def adam_amsgrad(p, exp_avg, exp_avg_sq, max_exp_avg_sq, g, *, lr, beta1, beta2, eps, weight_decay, decoupled,  # type: ignore[no-untyped-def]
                 maximize, step):  # fmt: skip
    """Take a step of Adam whose divisor uses the largest mean of squares so far."""
    g = -g if maximize else g
    g = g if decoupled else g + weight_decay * p
    p = p - lr * weight_decay * p if decoupled else p
    exp_avg = exp_avg + (g - exp_avg) * (1 - beta1)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * g * g
    max_exp_avg_sq = exp_avg_sq if exp_avg_sq > max_exp_avg_sq else max_exp_avg_sq
    root = math.sqrt(max_exp_avg_sq) * (1 / math.sqrt(1 - beta2**step))
    return p - lr / (1 - beta1**step) * exp_avg / (root + eps), exp_avg, exp_avg_sq, max_exp_avg_sq


@many
def adamax(p, exp_avg, exp_inf, g, *, lr, beta1, beta2, eps, weight_decay, maximize, step):  # type: ignore[no-untyped-def]
    """Take a step of Adam with a decaying maximum instead of the mean of squares."""
    g = -g if maximize else g
    g = g + weight_decay * p
    exp_avg = exp_avg + (g - exp_avg) * (1 - beta1)
    size = abs(g) + eps
    exp_inf = beta2 * exp_inf if beta2 * exp_inf > size else size
    return p - lr / (1 - beta1**step) * exp_avg / exp_inf, exp_avg, exp_inf


@many
def nadam(p, exp_avg, exp_avg_sq, g, *, lr, beta2, eps, weight_decay, decoupled, maximize, step, beta1, mu, mu_next,  # type: ignore[no-untyped-def]
          mu_product):  # fmt: skip
    """Take a step of Adam with Nesterov momentum: `mu` for this step, and `mu_next` for the next step."""
    g = -g if maximize else g
    g = g if decoupled else g + weight_decay * p
    p = p - lr * weight_decay * p if decoupled else p
    exp_avg = exp_avg + (g - exp_avg) * (1 - beta1)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * g * g
    root = math.sqrt(exp_avg_sq / (1 - beta2**step)) + eps
    p = p - lr * (1 - mu) / (1 - mu_product) * g / root
    return p - lr * mu_next / (1 - mu_product * mu_next) * exp_avg / root, exp_avg, exp_avg_sq


@many
def radam(p, exp_avg, exp_avg_sq, g, *, lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step):  # type: ignore[no-untyped-def]
    """Take a step of Adam that divides by the root of the mean of squares only if `rho` > 5.

    For smaller `rho`, the variance of this mean is too large or does not exist.
    """
    g = -g if maximize else g
    g = g if decoupled else g + weight_decay * p
    p = p - lr * weight_decay * p if decoupled else p
    exp_avg = exp_avg + (g - exp_avg) * (1 - beta1)
    exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * g * g
    limit = 2 / (1 - beta2) - 1
    rho = limit - 2 * step * beta2**step / (1 - beta2**step)
    term = math.sqrt((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho)) if rho > 5 else 1
    adaptive = term * math.sqrt(1 - beta2**step) / (math.sqrt(exp_avg_sq) + eps)
    return p - lr / (1 - beta1**step) * exp_avg * (adaptive if rho > 5 else 1), exp_avg, exp_avg_sq


# ---- sums and means of squares --------------------------------------------------------------------------------------


@many
def adagrad(p, sum, g, *, lr, lr_decay, weight_decay, eps, maximize, step):  # type: ignore[no-untyped-def]
    """Take a step along the gradient, divided by the root of the sum of all squared gradients so far."""
    g = -g if maximize else g
    g = g + weight_decay * p
    sum = sum + g * g
    return p - lr / (1 + (step - 1) * lr_decay) * g / (math.sqrt(sum) + eps), sum


@many
def adadelta(p, square_avg, acc_delta, g, *, lr, rho, eps, weight_decay, maximize):  # type: ignore[no-untyped-def]
    """Take a step along the gradient, scaled by the root mean square of steps over that of gradients."""
    g = -g if maximize else g
    g = g + weight_decay * p
    square_avg = rho * square_avg + (1 - rho) * g * g
    delta = math.sqrt(acc_delta + eps) / math.sqrt(square_avg + eps) * g
    return p - lr * delta, square_avg, rho * acc_delta + (1 - rho) * delta * delta


@many
def rmsprop(p, square_avg, g, *, lr, alpha, eps, weight_decay, maximize):  # type: ignore[no-untyped-def]
    """Take a step along the gradient, divided by the root of the running mean of squared gradients."""
    g = -g if maximize else g
    g = g + weight_decay * p
    square_avg = alpha * square_avg + (1 - alpha) * g * g
    return p - lr * g / (math.sqrt(square_avg) + eps), square_avg


@many
def rmsprop_momentum(p, square_avg, momentum_buffer, g, *, lr, alpha, eps, weight_decay, momentum, maximize):  # type: ignore[no-untyped-def]
    """Take a step of RMSprop along a running sum of scaled gradients."""
    g = -g if maximize else g
    g = g + weight_decay * p
    square_avg = alpha * square_avg + (1 - alpha) * g * g
    momentum_buffer = momentum * momentum_buffer + g / (math.sqrt(square_avg) + eps)
    return p - lr * momentum_buffer, square_avg, momentum_buffer


@many
def rmsprop_centered(p, square_avg, grad_avg, g, *, lr, alpha, eps, weight_decay, maximize):  # type: ignore[no-untyped-def]
    """Take a step of RMSprop whose divisor is the standard deviation: the variance is the mean of squares - mean**2."""
    g = -g if maximize else g
    g = g + weight_decay * p
    square_avg = alpha * square_avg + (1 - alpha) * g * g
    grad_avg = grad_avg + (g - grad_avg) * (1 - alpha)
    return p - lr * g / (math.sqrt(square_avg - grad_avg * grad_avg) + eps), square_avg, grad_avg


@many
def rmsprop_centered_momentum(p, square_avg, momentum_buffer, grad_avg, g, *, lr, alpha, eps, weight_decay, momentum,  # type: ignore[no-untyped-def]
                              maximize):  # fmt: skip
    """Take a step along a running sum of gradients, each divided by the running standard deviation."""
    g = -g if maximize else g
    g = g + weight_decay * p
    square_avg = alpha * square_avg + (1 - alpha) * g * g
    grad_avg = grad_avg + (g - grad_avg) * (1 - alpha)
    root = math.sqrt(square_avg - grad_avg * grad_avg) + eps
    momentum_buffer = momentum * momentum_buffer + g / root
    return p - lr * momentum_buffer, square_avg, momentum_buffer, grad_avg


# ---- others ---------------------------------------------------------------------------------------------------------


@many
def rprop(p, prev, step_size, g, *, shrink, grow, smallest, largest, maximize):  # type: ignore[no-untyped-def]
    """Take a step whose size is separate for each element, against the sign of the gradient.

    The size grows if the sign is unchanged, and shrinks if it has changed.
    """
    g = -g if maximize else g
    product = g * prev
    factor = grow if product > 0 else shrink if product < 0 else 1
    step_size = step_size * factor
    step_size = smallest if step_size < smallest else step_size
    step_size = largest if step_size > largest else step_size
    g = 0 if product < 0 else g
    return p - ((g > 0) - (g < 0)) * step_size, g, step_size


@many
def asgd(p, ax, g, *, lambd, weight_decay, maximize, eta, mu):  # type: ignore[no-untyped-def]
    """Take a step of gradient descent at the decreasing rate `eta`, and update the mean of the parameters."""
    g = -g if maximize else g
    g = g + weight_decay * p
    p = p * (1 - lambd * eta) - eta * g
    return p, p if mu == 1 else ax + (p - ax) * mu

"""The borders at which a user gives or receives gradients of complex tensors: each has PyTorch's gradient.

A border that is missing would conjugate in silence, and gradcheck, which sees pairs of real numbers, would not notice.
The numbers are those of PyTorch 2.13 for `w * exp(w)` at W with the incoming gradient V, and for the sum of magnitudes.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import DTypeError, GradientError

W = np.array([[0.5 + 1j, -1 + 0.25j], [2 - 0.5j, 0.75j]])
V = np.array([[1 + 2j, -0.5j], [0.25, 3 - 1j]])
GRADIENT = np.array([
    [5.892529887685478 - 3.0741130810679147j, -0.044555370030372604 + 0.01137685378426953j],
    [4.420567310937621 + 3.4674399976612795j, -0.5690260151097388 - 3.91167603389242j],
])  # fmt: skip
OF_LOSS = np.array([
    [2.5806569860647235 + 1.4746611348941279j, 0.022305967550633132 + 0.08922387020253263j],
    [22.401366742283418 - 1.7921093393826748j, 0.7499999999999998 + 1j],
])  # fmt: skip
DEVICE = "reference"  # the borders are the same on every device


def leaf(values=W):
    return mg.tensor(values, device=DEVICE).requires_grad_()


def seed():
    return mg.tensor(V, device=DEVICE)


def function(w):
    return w * w.exp()


def loss_of(w):
    return function(w).abs().sum()


def hold(found, wanted=GRADIENT):
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-12, atol=1e-14)


def test_grad_and_backward_take_and_return_pytorchs_gradients():
    w = leaf()
    hold(mg.grad(function(w), w, seed()))
    hold(mg.grad(function(w), w, seed(), create_graph=True))
    store = function(w).backward(seed())
    hold(w.grad)
    hold(store[w])
    hold(mg.grad(loss_of(w), w), OF_LOSS)
    loss_of(w).backward()
    hold(w.grad, GRADIENT + OF_LOSS)


def test_a_complex_output_needs_an_incoming_gradient_and_a_real_one_a_real_gradient():
    w = leaf()
    with pytest.raises(GradientError, match="expected a real output if no gradient is given"):
        function(w).backward()
    with pytest.raises(DTypeError, match=r"the gradient of the real output .* must be real"):
        mg.grad(loss_of(w), w, mg.tensor(1j, device=DEVICE))
    hold(mg.grad(function(w), w, mg.ones(2, 2, dtype=mg.float64, device=DEVICE)).conj(), np.exp(W) * (1 + W))


def test_gradients_of_intermediate_values():
    w = leaf()
    h = w * 1.0
    h.retain_grad()
    loss_of(h).backward()
    hold(h.grad, OF_LOSS)
    h = w * 1.0
    hold(mg.grad(loss_of(h), h), OF_LOSS)


def test_gradients_that_are_handed_out_early():
    w, seen = leaf(), []
    w.register_post_accumulate_grad_hook(lambda x: seen.append(x.grad.clone()))
    loss_of(w).backward()
    hold(seen[0], OF_LOSS)
    hold(w.grad, OF_LOSS)


def test_hooks_of_tensors_and_leaves():
    w, seen = leaf(), []
    y = function(w)
    y.register_hook(lambda g: seen.append(g.clone()))
    w.register_hook(lambda g: seen.append(g.clone()) or g * 2j)
    y.backward(seed())
    hold(seen[0], V)
    hold(seen[1], GRADIENT)
    hold(w.grad, 2j * GRADIENT)


def test_hooks_of_nodes():
    w, seen = leaf(), []
    y = w.exp()
    y.grad_fn.register_prehook(lambda grads: seen.append(grads[0].clone()) or (grads[0] * 1j,))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.extend([inputs[0].clone(), outputs[0].clone()]))
    y.backward(seed())
    hold(seen[0], V)
    hold(seen[1], 1j * V * np.exp(W).conj())
    hold(seen[2], 1j * V)
    hold(w.grad, 1j * V * np.exp(W).conj())


def test_func_grad_vjp_and_their_transforms():
    x, v = mg.tensor(W, device=DEVICE), seed()
    hold(mg.func.grad(loss_of)(x), OF_LOSS)
    hold(mg.func.vjp(function, x)[1](v)[0])
    hold(mg.func.vmap(mg.func.grad(loss_of))(x), OF_LOSS)
    hold(mg.func.vmap(lambda a, b: mg.func.vjp(function, a)[1](b)[0])(x, v))
    hold(mg.autograd.functional.vjp(function, x, v)[1])
    pushed = mg.func.jvp(mg.func.grad(loss_of), (x,), (v,))[1]
    step = 1e-6
    near = [mg.func.grad(loss_of)(x + h * v).numpy() for h in (step, -step)]
    np.testing.assert_allclose(pushed.numpy(), (near[0] - near[1]) / (2 * step), rtol=1e-6)
    for made in (mg.func.jacrev, mg.func.jacfwd, mg.func.hessian):
        with pytest.raises(DTypeError, match="inputs and outputs must be real"):
            made(loss_of)(x)
        with pytest.raises(DTypeError, match="inputs and outputs must be real"):
            made(lambda w: (w * 0.5j).conj())(x.real)


def test_a_function_has_pytorchs_backward_and_jvp():
    class Derived(mg.Function):  # forward mode follows from backward
        @staticmethod
        def forward(w):
            return function(w)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (w,) = ctx.saved_tensors
            return g * (w.exp() * (1 + w)).conj()

    class Own(Derived):
        @staticmethod
        def jvp(ctx, dw):
            (w,) = ctx.saved_tensors
            return dw * w.exp() * (1 + w)

    w, x = leaf(), mg.tensor(W, device=DEVICE)
    hold(mg.grad(Own.apply(w), w, seed()))
    hold(mg.func.vjp(Own.apply, x)[1](seed())[0])
    hold(mg.func.jvp(Own.apply, (x,), (seed(),))[1], V * np.exp(W) * (1 + W))
    hold(mg.func.jvp(Derived.apply, (x,), (seed(),))[1], V * np.exp(W) * (1 + W))


def test_custom_vjp_and_the_rules_of_declared_ops():
    @mg.custom_vjp
    def own(w):
        return function(w)

    own.defvjp(lambda w: (function(w), w), lambda w, g: (g * (w.exp() * (1 + w)).conj(),))
    w = leaf()
    hold(mg.grad(own(w), w, seed()))

    # A rule of an op is inside of the borders: it multiplies by the derivative.
    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g, x: g * 2 * x,))
    def own_square(x):
        return x * x

    hold(mg.grad(own_square(w), w, seed()), V * 2 * W.conj())

    @mg.elementwise(dtype=mg.rules.promote, vjp="derived")
    def own_cube(x):
        return x * x * x

    hold(mg.grad(own_cube(w), w, seed()), V * 3 * W.conj() ** 2)


def test_checkpoint_anomaly_mode_and_saved_tensor_hooks():
    w = leaf()
    hold(mg.grad(mg.checkpoint(function, w), w, seed()))
    with mg.detect_anomaly():
        hold(mg.grad(function(w), w, seed()))
    with mg.autograd.graph.saved_tensors_hooks(lambda x: x.numpy(), lambda x: mg.tensor(x, device=DEVICE)):
        y = (w * 1.0).exp()
    hold(mg.grad(y, w, seed()), V * np.exp(W).conj())


def test_jitted_functions_and_their_gradients():
    jitted = mg.jit(function)
    whole = mg.jit(lambda x: mg.func.grad(loss_of)(x))
    for _ in range(3):
        w = mg.Var(W)  # on the CPU, whose kernels are fused
        hold(mg.grad(jitted(w), w, mg.tensor(V)))
        hold(whole(mg.tensor(W, device=DEVICE)), OF_LOSS)


def test_gradients_of_real_operands_are_real():
    a, b = leaf(W.real.copy()), leaf()
    for create in (False, True):
        ga, gb = mg.grad((a * b).abs().sum(), [a, b], create_graph=create)
        assert ga.dtype is mg.float64 and gb.dtype is mg.complex128
        hold(ga, np.sign(W.real) * np.abs(W))
    hold(mg.grad(mg.polar(a, a).real.sum(), a), np.cos(W.real) - W.real * np.sin(W.real))
    hold(mg.grad(a.to(mg.complex128), a, seed()), V.real)
    hold(mg.grad(b.to(mg.float64).sum(), b), np.ones((2, 2)))


def test_writes_in_place_are_recorded():
    w = leaf()
    y = w * 1.0
    y.mul_(2j)
    y[0] = w[1] * w[0]
    t = np.array([W[1] * W[0], 2j * W[1]])
    y.abs().sum().backward()
    unit = t / np.abs(t)
    hold(w.grad[0], unit[0] * W[1].conj())
    hold(w.grad[1], unit[0] * W[0].conj() + unit[1] * np.conj(2j))
    w = leaf()
    y = w * 1.0
    y.real.mul_(y.imag)
    y.abs().sum().backward()
    size = np.hypot(W.real * W.imag, W.imag)
    real = W.real * W.imag**2 / size
    hold(w.grad, real + 1j * (W.real**2 + 1) * W.imag / size)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_optimizers_step_over_pairs(name):
    one, pairs = leaf(), mg.tensor(np.stack([W.real, W.imag], -1), device=DEVICE).requires_grad_()
    first, second = (getattr(mg.optim, name)([p], lr=0.1) for p in (one, pairs))
    for _ in range(3):
        loss_of(one).backward()
        loss_of(mg.view_as_complex(pairs)).backward()
        for optimizer in (first, second):
            optimizer.step()
            optimizer.zero_grad()
    np.testing.assert_allclose(mg.view_as_real(one).detach().numpy(), pairs.detach().numpy(), rtol=1e-12)
    with pytest.raises(DTypeError, match="Muon: params must be real, got complex128"):
        mg.optim.Muon([one])


def test_clipping_and_modules():
    w = leaf()
    loss_of(w).backward()
    norm = mg.nn.utils.clip_grad_norm_([w], 1.0)
    assert norm.item() == pytest.approx(np.linalg.norm(OF_LOSS)) and norm.dtype is mg.float64
    hold(w.grad, OF_LOSS / (np.linalg.norm(OF_LOSS) + 1e-6))
    layer = mg.nn.Module()
    layer.w = mg.nn.Parameter(mg.tensor([1j]))
    assert layer.double().w.dtype is mg.complex64 and layer.to(mg.complex128).w.dtype is mg.complex128

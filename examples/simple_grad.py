"""One gradient: the smallest program that shows what minigrad is for.

y is a polynomial of x, element by element; `backward` visits the recorded ops in reverse and returns dy/dx = 2x + 5.
Run it twice: the first run compiles a few small kernels, the second run finds them in the kernel cache.
"""

import minigrad as mg

x = mg.Var([3.0, 1.0, 4.0])  # a Var is a tensor that receives a gradient
y = x * x + x * 5.0 + 4.0  # each op runs at once, and is recorded because an operand is a Var
grads = y.backward()  # y is not a scalar: this is the gradient of the sum of its elements

print("x     =", x.tolist())
print("y     =", y.tolist())
print("dy/dx =", grads[x].tolist())

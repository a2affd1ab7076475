"""One gradient: the smallest program that shows what minigrad is for.

y is a polynomial of x, element by element; `backward` walks the recorded ops back and returns dy/dx = 2x + 5.
Run it twice: the first compiles a handful of small kernels, the second finds them in the kernel cache.
"""

import minigrad as mg

x = mg.Var([3.0, 1.0, 4.0])  # a Var is a tensor that gradients flow to
y = x * x + x * 5.0 + 4.0  # each op runs at once, and leaves a record because it has seen a Var
grads = y.backward()  # y is no scalar, so each of its elements counts once

print("x     =", x.tolist())
print("y     =", y.tolist())
print("dy/dx =", grads[x].tolist())

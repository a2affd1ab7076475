"""How fast are the programs of `mg.jit`, compared with eager mode, `jax.jit` and `torch.compile`?

`report.py` prints the comparison, `workers.py` runs each library in a process of its own, `steps.py` and `examples.py`
have the functions that are compared, and `jax_steps.py` and `jax_examples.py` the same functions for JAX.  `costs.py`
measures the other costs of a program: its guards, its rows, a new batch size, and its memory.
"""

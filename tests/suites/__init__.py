"""Do PyTorch's own test files pass with minigrad under the name `torch`?

`python -m tests.suites FILE [pytest arguments]` runs FILE of a checkout's `test` folder twice, each time in its own
process: with PyTorch, then with minigrad under PyTorch's names. It prints the tests that pass in the first run only.
`replaced` contains the import hook of the second run, `plugin` the part inside pytest, `scope` the choice of the tests,
and `__main__` compares the two runs. The command needs an installed PyTorch with NumPy, SciPy, expecttest and pytest.
"""

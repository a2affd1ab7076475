"""Every function that PyTorch has too, called with each documented argument alone and in pairs.

`values.py` lists sample values.  `calls.py` makes calls from PyTorch's signatures (`tests/pytorch_signatures.json`),
runs them on the reference device and compares the results with `results.json`, which PyTorch computed.  `python -m
tests.arguments` compares with PyTorch itself where it is installed, and `--write` stores its results.
"""

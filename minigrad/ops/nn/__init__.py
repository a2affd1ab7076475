"""The functions of neural networks; their default namespace is mg.nn.functional."""

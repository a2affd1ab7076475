"""The functions of networks: their default namespace is mg.nn.functional."""

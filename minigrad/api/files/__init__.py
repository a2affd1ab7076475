"""Files of tensors, and checkpoints of training runs."""

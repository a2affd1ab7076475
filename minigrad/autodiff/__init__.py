"""Reverse mode: walking the recorded graph back, and where the gradients go."""

"""The path through minigrad, from a derivative by nudging to a network: notebooks, solutions, a pack for teachers."""

"""The path through minigrad, from a derivative by nudging to a network: notebooks, exercises, their grader."""

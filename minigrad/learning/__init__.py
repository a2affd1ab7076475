"""The exercises of the notebooks and their graders.

A notebook imports `check` and `hint` from `minigrad.learning.grading`.  `python -m minigrad tutorial` opens the
notebooks of a checkout, or a copy of the notebooks that a wheel contains.
"""

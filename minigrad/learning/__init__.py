"""The exercises of the notebooks and their graders, which a wheel contains too.

A notebook imports `check` and `hint` from `minigrad.learning.grading`.  `python -m minigrad tutorial` opens the
notebooks themselves: those of a checkout, or a copy of those that a wheel contains.
"""

"""Passages of problems from equal overlaps."""

from ssiode.weight_sharing.ode_passage import OdePassage


def passage_of(problem, m, threshold):
    return OdePassage(problem, problem.geometry.state(m=m)[None], threshold)

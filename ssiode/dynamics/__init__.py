"""Ways to move on a problem: the ODE on the sufficient statistics, and direct SGD."""

from ssiode.dynamics.ode import solve_ode
from ssiode.dynamics.sgd import run_sgd

__all__ = ["run_sgd", "solve_ode"]

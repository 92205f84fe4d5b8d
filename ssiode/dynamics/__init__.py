"""Ways to move on a problem: the ODE, the exact chain of the overlaps, and direct SGD."""

from ssiode.dynamics.chain import run_chain
from ssiode.dynamics.ode import solve_ode
from ssiode.dynamics.run import resume_run
from ssiode.dynamics.sgd import run_sgd

__all__ = ["resume_run", "run_chain", "run_sgd", "solve_ode"]

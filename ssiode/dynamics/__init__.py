"""Ways to move on a problem: the ODE, the diffusion, the exact chain, and direct SGD."""

from ssiode.dynamics.band import Band, fluctuation_band
from ssiode.dynamics.chain import run_chain
from ssiode.dynamics.diffusion import run_diffusion
from ssiode.dynamics.methods import Method
from ssiode.dynamics.ode import solve_ode
from ssiode.dynamics.run import resume_run
from ssiode.dynamics.sgd import run_sgd

__all__ = [
    "Band",
    "Method",
    "fluctuation_band",
    "resume_run",
    "run_chain",
    "run_diffusion",
    "run_sgd",
    "solve_ode",
]

"""The population risk R(e, m), its gradient and the second moment V of the gradient."""

from ssiode.population_risk.fluctuations import Fluctuations
from ssiode.population_risk.montecarlo import MonteCarloEngine
from ssiode.population_risk.protocol import RiskEngine, RiskEvaluation
from ssiode.population_risk.quadrature import QuadratureEngine
from ssiode.population_risk.selection import make_engine, risk
from ssiode.population_risk.series import SeriesEngine
from ssiode.population_risk.untied.montecarlo import RowMonteCarloEngine
from ssiode.population_risk.untied.series import RowSeriesEngine

__all__ = [
    "Fluctuations",
    "MonteCarloEngine",
    "QuadratureEngine",
    "RiskEngine",
    "RiskEvaluation",
    "RowMonteCarloEngine",
    "RowSeriesEngine",
    "SeriesEngine",
    "make_engine",
    "risk",
]

"""What a solve or a run returns: immutable, and knowing how it was made."""

from ssiode.results.checkpoint import Checkpoint
from ssiode.results.ensemble import Ensemble, spread
from ssiode.results.provenance import provenance
from ssiode.results.trajectory import Trajectory

__all__ = ["Checkpoint", "Ensemble", "Trajectory", "provenance", "spread"]

"""What sharing weights among the tokens gains: tied against untied networks."""

from ssiode.weight_sharing.gain import gain
from ssiode.weight_sharing.result import Gain

__all__ = ["Gain", "gain"]

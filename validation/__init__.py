"""Theory against simulation: agreement checks and benchmarks."""

from ssiode.validation.agreement import Agreement, validate

__all__ = ["Agreement", "validate"]

"""Tests of Mehler's series, mirroring ``ssiode/population_risk/mehler``."""

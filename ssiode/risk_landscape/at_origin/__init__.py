"""The risk at the origin of the overlaps: its expansion and how it goes down from there."""

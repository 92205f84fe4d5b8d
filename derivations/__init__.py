"""Derivations, each a script that proves its formula."""

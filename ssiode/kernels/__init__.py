"""Numba kernels as pieces of source that are linked into one module per problem.

A student, a target and a loss each bring the functions of :mod:`ssiode.kernels.interface`; an
engine kernel calls them. :func:`ssiode.kernels.linker.link` joins the pieces into one source
file named by its content, so that numba's cache on disk is found again by the next process and
can never be stale.
"""

"""Mehler's series of networks with one weight vector for each token."""

"""Mehler's series: averages of products of teacher and student functions as power series in m."""

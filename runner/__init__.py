"""Runs experiments (experiments/*.toml) within a budget: which points, in which order, what was done before, what is missing.

Knows rows (report.rows), and nothing of what is made of them.
"""

"""From measured rows to answers: rows, statistics, comparisons, claims, and what is printed of them.

Arrows point one way: rows and statistics know nothing of claims, claims nothing of how they are printed.
"""

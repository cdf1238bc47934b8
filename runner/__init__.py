"""Runs experiments (experiments/*.toml) within a budget: which points, in which order, what was done before, what is
missing. Knows rows (report.rows) and has tables made of them (report.one_run), and nothing else of the report but what
claims read.

    experiments, points, studies  the list; what a point is, and the command that measures it
    here, costs, readers          this machine and build; predicted seconds; which claims read an experiment
    folder, elsewhere             a run's folder; points of a paper that another commit has measured from the same sources
    launch, measure               starting programs; one process of one point
    publish, summary, run         rows, tables and figures of what is finished; what is said; all of it
"""

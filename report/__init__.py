"""From measured rows to answers. Arrows point one way; nothing below knows what is above it:

    rows, cases, sources          what a row of results/ is, what its case says, which sources it depends on
    packages                      what programs of the report need, and how to install it
    statistics, calibration       intervals between processes, sees arrays; how far runs differ
    words, text                   names in words; how numbers, tables and paragraphs are written
    model, places, wholes, inside, traces       runs and points; strategies of one run at one place; whole solves, one
                                  product within them, and their kernels
    set_ups, quantities           what set-ups take; what claims compare
    richardson, tube, bracket, accuracy             references of solves; when each element reaches an error
    claim, verdicts, where        claims/*.toml; what rows decide of them; where they hold, in a phrase
    claims, rests                 what is said of claims; which claims the sentences of documents rest on
    compare, environments         two runs; what differs around them
    reliability                   how far the numbers hold
    predict, predict_solves, prediction_check, prediction_tables    other chips, beside rows of those that are here
    panels, gnuplot, captions     figures as values, their drawing and words; *_figures: what they show; figures: all
    run_tables, run_kernels, run_cells, one_run     tables and figures of one run
    parts, choice, strategies, documents            what documents have of all this
    render/                       the report as Markdown, HTML and LaTeX
    reproduce                     measures a claim anew
"""

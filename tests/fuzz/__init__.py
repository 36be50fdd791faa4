"""A fuzz of the page analysis: mutated pages and random inputs, each repeatable by its number.

``python -m tests.fuzz --pages 30000 --data`` mutates real pages, plain and as a browser captures
them, and analyses them with all engines in turn in a process of its own. What it reports:
exceptions that are not the package's own, pages that take more than 5 s of processor time, crashes,
and resident memory at the end against that after the first tenth. ``--functions N`` gives N random
inputs to the functions that see what strangers write before a worker does. ``--only NUMBER`` with
the same ``--seed`` repeats one page.
"""

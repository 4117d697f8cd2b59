"""Programs that look at one thing each.

Those that the Python that is asked about runs import nothing of this package.
"""

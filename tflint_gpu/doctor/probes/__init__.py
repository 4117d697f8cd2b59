"""Programs that look at one thing each.

Those that the Python that is asked about runs import nothing of this package, and run from Python 3.6 on; what that
does not know as an annotation is quoted.
"""

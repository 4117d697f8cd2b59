"""How many findings in public code `verify` can run on a CPU, and why not the others.

    python tests/benchmarks/reach.py FOLDER [--run N] [--repository NAME]... [--out FILE]

FOLDER has a folder for each repository, called `owner+name`. Without `--run` programs are only planned, which costs
no more than a check.
"""

"""The processes next to the program: the one that binds its life to this command's, and a witness of signals."""

from pathlib import Path

BOUND = Path(__file__).resolve().with_name("bound.py")

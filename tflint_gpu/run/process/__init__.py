"""The processes next to the program: the one that binds its life to this command's, and a witness of signals."""

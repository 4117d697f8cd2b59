"""Program slicing: from a finding to a program that can run."""

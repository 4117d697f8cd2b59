"""Which calls run, by whom and from where: one walk for everybody."""

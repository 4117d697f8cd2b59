"""What values are: kind, dtype and shape of tensors, elements of datasets, computed from the facts of the library."""

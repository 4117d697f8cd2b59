"""What a check sees: the files that its questions look into, and the answers that other checks share."""

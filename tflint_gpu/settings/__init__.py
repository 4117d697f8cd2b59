"""What a user has set: configuration, selected rules, the target TensorFlow, and which files to check."""

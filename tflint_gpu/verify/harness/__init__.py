"""What runs next to the measured code, in its process, and measures."""

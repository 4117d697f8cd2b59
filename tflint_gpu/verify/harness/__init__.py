"""What runs beside the measured code, in its process."""

"""What runs on the Python side of the embedded sandbox."""

"""What single pages show."""

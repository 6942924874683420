"""`python -m book.build` makes the book."""
from .site import main

main()

"""Refreshes the price books from the catalogues of providers."""

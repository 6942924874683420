"""What pages show: sentences, derivations, tables, charts, and predicted against published.

Whoever imports a module of it gets explanations that a notebook shows as equations, numbers and sources.
"""
from .derivation import derivation

__all__ = ["derivation"]

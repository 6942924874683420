"""Decisions and searches over laws and rows: layouts, fleets, runs, tokens, bills, rent or own, what changed."""

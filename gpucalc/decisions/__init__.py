"""What decides: the rule, its declarations and markets, searches for layouts, fleets and ways to serve, and answers in words."""

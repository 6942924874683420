"""Laws, data and texts as scripts for the browser."""

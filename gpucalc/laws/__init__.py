"""The formulas, one module a topic: nothing but laws."""

"""What pages share: sentences, derivations, tables, charts, pictures, and predicted against published."""

"""What reads data/: tables, the catalogue, price books, claims, Hugging Face configurations."""

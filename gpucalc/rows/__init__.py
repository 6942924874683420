"""What reads data/: tables, the catalogue, price books, bands, case files, Hugging Face configurations."""

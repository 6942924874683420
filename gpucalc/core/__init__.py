"""What a law is: the vocabulary, arithmetic on any kind of value, a case that answers laws, and figures as text."""

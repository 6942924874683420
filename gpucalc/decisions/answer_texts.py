"""Texts of answers, by name, as data/texts/answers.yaml has them; its head says how they are written."""
from ..rows.texts import conditional, read_texts

_HELD = read_texts("answers")
TEXTS, PAGE = (conditional("answers", _HELD[section]) for section in ("texts", "page"))
NOUNS, WORDS, PARTS = (_HELD[section] for section in ("nouns", "words", "parts"))
TITLES, BARS, LIMITED = (_HELD[section] for section in ("titles", "bars", "limited"))
# Texts of `caution_...`, in the order in which they are said.
CAUTIONS = tuple(_HELD["cautions"])
# By kind of decision and card the page that explains it, and what the link says; the same of rent or buy.
WHY = {kind: {card: tuple(link) for card, link in cards.items()} for kind, cards in _HELD["why"].items()}
OWN = {card: tuple(told) for card, told in _HELD["own"].items()}
DECISION = _HELD["decision"]["title"]

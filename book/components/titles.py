"""What the pages are called, by name, as book/_toc.yml has it."""
from pathlib import Path

import yaml

CONTENTS = Path(__file__).parents[1] / "_toc.yml"
_PARTS = yaml.safe_load(CONTENTS.read_text(encoding="utf-8")).get("parts", [])
PAGES = {chapter["file"]: chapter.get("title", "") for part in _PARTS for chapter in part["chapters"]}

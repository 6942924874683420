"""Styles, fonts and scripts of the site, without what no page uses."""

import json
import re
import shutil
from functools import cache as once
from pathlib import Path

import tinycss2

from .charts import kept
from .inputs import digest

# What no page loads: maps for debuggers, translations, a second copy of the icons as script, and Bootstrap's
# script, which would only draw tooltips where the browser shows titles by itself.
UNUSED = ["**/*.map", "locales", "images", "*webpack-macros.html", "scripts/bootstrap*", "scripts/fontawesome*"]
FONT_FACE = r"@font-face\s*\{[^}]*webfonts/fa-%s[^}]*\}"
FONTS = ("solid-900", "regular-400", "brands-400")
NAME = r"[\w-]|\\."
# What only the front page loads, in this order: the formulas with their data, which front.py has made, and who asks them.
ENGINE = ["figures.js", "engine.js", "owning_data.js", "words.js", "grid.js", "case.js", "columns.js", "rule.js", "points.js",
          "market.js", "owning.js", "read.js", "read_rents.js", "job.js", "answer.js", "page_answer.js"]
FRONT = ["front_state.js", "asking.js", "parts.js", "front_sentence.js", "front_cards.js", "front.js"]
# What a lesson loads once its address holds a case.
LESSON = [*ENGINE, "front_state.js", "lesson_data.js", "yours.js"]
# What the page of drills loads.
DRILLS = ["parts.js", "figures.js", "drills_data.js", "grid.js", "case.js", "drills.js", "drills_progress.js", "drills_sheet.js",
          "drills_page.js"]
# The file that stands for scripts that a page loads one after the other. asking.js is a worker's too and stays by itself.
ROLES = {"answers.js": [*ENGINE, "front_state.js"], "form.js": FRONT[2:], "with_case.js": ["lesson_data.js", "yours.js"],
         "training.js": DRILLS}
# The book's own scripts, with those that are printed from Python, and what of them no browser needs.
OWN = [*(path.name for path in sorted((Path(__file__).parents[1] / "static").glob("*.js"))), "figures.js", "words.js"]
COMMENT = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
PROPERTY = re.compile(r"(?<=[{;])\s*(--[\w-]+):[^;{}\"'()]*(?:;|(?=\}))")


def lighten(html: Path, cache: Path) -> None:
    """Leaves in the site's `_static` what its pages use; a second time changes nothing."""
    static = html / "_static"
    remove(static, UNUSED)
    used = used_names(html)
    styles = sorted(static.rglob("*.css"))
    for style in styles:
        text = style.read_text(encoding="utf-8")
        kinds = json.dumps([text, sorted(used & names_in(text))])
        style.write_text(kept(cache, "style", kinds, lambda text=text: purged(text, used)), encoding="utf-8")
    for name in OWN:
        if (static / name).is_file():
            script = (static / name).read_text(encoding="utf-8")
            (static / name).write_text(INDENT.sub("", COMMENT.sub("", script)), encoding="utf-8")
    subset_fonts(static, cache)
    drop_unread(static)
    remove(static, ["vendor"])


def join_scripts(html: Path, pages: list[Path]) -> None:
    """Puts one script in the place of those of a role that a page loads in a row, and drops what no page loads then."""
    static, made, loaded = html / "_static", set(), set()
    tag = r'<script([^>]*) src="([^"]*_static/)%s[^"]*"></script>'
    runs = {role: re.compile(r"\s*".join(tag % re.escape(name) for name in names)) for role, names in ROLES.items()}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        made.update(role for role, run in runs.items() if run.search(text))
        for role, run in runs.items():
            text = run.sub(rf'<script\1 src="\2{role}"></script>', text)
        page.write_text(text, encoding="utf-8")
        loaded.update(re.findall(r"_static/([\w.]+\.js)", text))
    for role in made:
        joined = (static / name for name in ROLES[role])
        (static / role).write_text("".join(path.read_text(encoding="utf-8") for path in joined), encoding="utf-8")
    for name in {name for role in made for name in ROLES[role]} - loaded:
        (static / name).unlink()


def remove(folder, patterns):
    for path in {path for pattern in patterns for path in folder.glob(pattern)}:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def used_names(html):
    """Classes, ids and other words that a selector could name, in the pages' tags and in all scripts."""
    used = set()
    for page in html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for values in re.findall(r'\s(?:class|id)="([^"]*)"', text):
            used.update(values.split())
    for script in html.glob("_static/**/*.js"):
        used.update(re.findall(r"[\w-]+", script.read_text(encoding="utf-8")))
    return used


def drop_unread(static):
    """Takes the properties out of the styles that none of them reads and no script names."""
    styles = {path: path.read_text(encoding="utf-8") for path in sorted(static.rglob("*.css"))}
    scripts = "".join(path.read_text(encoding="utf-8") for path in sorted(static.rglob("*.js")))
    read = {*re.findall(r"var\(\s*(--[\w-]+)", "".join(styles.values())), *re.findall(r"--[\w-]+", scripts)}
    for path, style in styles.items():
        some = PROPERTY.sub(lambda rule: rule[0] if rule[1] in read else "", style)
        path.write_text(some, encoding="utf-8")


def names_in(style):
    return {name.replace("\\", "") for name in re.findall(rf"[.#]((?:{NAME})+)", style)}


def purged(style: str, used: set[str]) -> str:
    """The rules of a style sheet that could match something: all classes and ids of a selector are used."""
    rules = []
    for rule in tinycss2.parse_stylesheet(style, skip_comments=True, skip_whitespace=True):
        if rule.type == "qualified-rule":
            selectors = [each for each in split(tinycss2.serialize(rule.prelude)) if may_match(each, used)]
            if selectors:
                rules.append(f"{','.join(selectors)}{{{short(tinycss2.serialize(rule.content))}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
            inner = purged(tinycss2.serialize(rule.content), used)
            if inner:
                rules.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        else:
            rules.append(rule.serialize())
    return "\n".join(rules)


def short(declarations):
    """Declarations without the spaces and the end that a browser does not need."""
    return re.sub(r"\s*([;:])\s+", r"\1", " ".join(declarations.split())).removesuffix(";")


def split(selectors):
    """The selectors of a list; a comma within parentheses or brackets divides none."""
    parts, depth = [""], 0
    for letter in selectors:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def may_match(selector, used):
    """Whether an element could match; alternatives and negations, in parentheses, are no condition."""
    while (simpler := re.sub(r"\([^()]*\)", "", selector)) != selector:
        selector = simpler
    return names_in(re.sub(r"\[[^\]]*\]", "", selector)) <= used


def subset_fonts(static, cache):
    """Leaves in the icon fonts the icons that the styles show, and names the smaller files."""
    theme = static / "styles/pydata-sphinx-theme.css"
    style = theme.read_text(encoding="utf-8")
    icons = sorted({ord(icon) for icon in re.findall(r'"([^"\\])"', style)})
    for font in FONTS:
        full = static / f"vendor/fontawesome/webfonts/fa-{font}.ttf"
        if not full.exists():
            continue
        letters = has_letters(full, icons)
        face = re.compile(FONT_FACE % font)
        if not letters:
            style = face.sub("", style)
            continue
        key = json.dumps([digest(full.read_bytes()), letters])
        small = bytes.fromhex(kept(cache, "font", key, lambda full=full, letters=letters: subset(full, letters).hex()))
        (static / f"styles/icons-{font}.woff").write_bytes(small)
        source = f'src:url(icons-{font}.woff) format("woff")'
        style = face.sub(lambda rule, source=source: re.sub(r"src:[^;}]*", source, rule[0]), style)
    theme.write_text(style, encoding="utf-8")


@once
def code_points(path):
    from fontTools.ttLib import TTFont

    return set(TTFont(path, lazy=True).getBestCmap())


def has_letters(path, icons):
    return [icon for icon in icons if icon in code_points(path)]


def subset(path: Path, letters: list[int]) -> bytes:
    """A font with these code points only, as WOFF."""
    from io import BytesIO

    from fontTools import subset as fonttools

    options = fonttools.Options(flavor="woff", notdef_outline=True, layout_features=[])
    font = fonttools.load_font(str(path), options)
    subsetter = fonttools.Subsetter(options)
    subsetter.populate(unicodes=letters)
    subsetter.subset(font)
    made = BytesIO()
    fonttools.save_font(font, made, options)
    return made.getvalue()

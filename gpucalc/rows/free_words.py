"""A line of free words as a case: rules and the names of names.py, nothing learned and nothing asked of a network.

"70b chat, 10 requests a second, 1k in, 300 out, first token under 1 s" fills the blanks of a job. What a rule takes is out of the
text; what is left in the end was not understood, and is said. A browser has this too, printed by pyjs.
"""
import math
import re
from typing import Any, NamedTuple

from ..core.quantities import DEFAULTS, QUANTITIES
from . import catalogue as catalogue, names  # jobs name what the catalogue finds
from .tables import rows
from .texts import read_texts

_HELD = read_texts("free_words")
# Lines with which the front page opens, by what it calls them.
PRESETS: dict[str, str] = _HELD["presets"]
# Parts of patterns by what stands for them, powers of ten, seconds of a unit, digits; jobs, inputs and words by pattern.
_PARTS, _POWERS, _SECONDS, _COUNTS = (_HELD[name] for name in ("parts", "powers", "seconds", "counts"))
_JOBS, _RULES, _WORDS, _NO_NAMES = (_HELD[name] for name in ("jobs", "rules", "words", "no_names"))
# Words of prices, and of memory.
_OFFERED, _MEMORY = _HELD["offered"], _HELD["memory"]
# Words that ask, and those that are said by the job.
_SAID = set(_HELD["said"].split())
# The share of a card's memory that an engine takes, how many models that fit are offered, and tokens of a training example.
_USED, _CANDIDATES, _EXAMPLE = DEFAULTS["memory_utilization"].value, 5, DEFAULTS["example_tokens"].value
# Requests a second of somebody who asks alone, one in 20 s: on cards that one has, where no load is named; and the loads.
_ALONE, _LOADS = 0.05, ["requests_per_second", "daily_users"]
# Tokens a second above which a user's own answer is not meant.
_FASTEST = 300
# Ways to tune of which "fine-tune" leaves open which.
_TUNING = ["finetune", "lora", "qlora"]

# Before cards, which stand as § for a while.
_OWN = r"\b(?:my|our|have|has|own) §"
_VERSION = re.compile(r"v?\d+(\.\d+)*")
_WEAK = re.compile(r"v\d\w*|m\d|\d{1,3}|[2-9]000|max|maxq|ultra|super|ti|ada|pro")
_THINGS = re.compile("tokens?|users?|requests?|people|usd|dollars?|in|out|steps|pairs")
_ONE = ["a", "an", "my", "our", "on", "single", "x"]
_VARIANT = re.compile(r"sxm|pcie|nvl|nvl72|server|workstation|maxq|\d+gb")


class Ask(NamedTuple):
    """A name that leaves open what it means: the input, the words, what stands meanwhile, and all that it may be."""

    key: str
    words: str
    taken: str
    others: list[str]


class Words:
    """One line of free words: `inputs` of a case by name, `usual` ones that stand for a blank, what is `granted` in words,
    `asks`, what is `left`, a `count` of cards, and whether it is a `question` of another kind, which no case answers.

    sellers: providers that may be named. What is not understood is in `left`, never dropped.
    """

    def __init__(self, line, sellers):
        self.text = plain(line)
        self.sellers = sellers
        self.inputs, self.usual, self.granted, self.asks, self.left, self.named, self.count = {}, {}, [], [], [], [], 0
        self.question, self.offered, self.memory = False, False, False

    def read(self):
        """Reads the line, rule by rule."""
        self.aside()
        self.job()
        why = re.search(r"\bwhy\b", self.text) is not None
        self.offered, self.memory = (re.search(pattern, self.text) is not None for pattern in (_OFFERED, _MEMORY))
        self.cards()
        kind = rows("jobs")[self.inputs["job"]]["kind"]
        for pattern, name, said in _WORDS:
            if name != "window_hours" or kind == "offline":
                self.put(name, said, self.take(pattern))
        for pattern, name, counts, kinds in _RULES:
            if not kinds or kind in kinds.split():
                self.number(self.take(pattern), name, counts)
        self.provider()
        self.of_cards()
        self.model()
        self.fitting()
        self.format()
        self.left = [*self.left, *self.rest()]
        self.question = self.question and (why or len(self.inputs) == 1 and not self.asks)

    def take(self, pattern):
        """What fits a pattern, out of the text."""
        found = sought(pattern, self.text)
        if found:
            self.text = f"{self.text[:found.start()]} | {self.text[found.end():]}"
        return found

    def put(self, name, value, found):
        """An input, where its words were found; what is said twice is left."""
        if found and name in self.inputs:
            self.left.append(found[0].strip())
        elif found:
            self.inputs[name] = value

    def aside(self):
        """What has no input: users at the same time, tokens a day, and what somebody does not want."""
        for pattern in (r"<n> (?:concurrent|simultaneous|parallel) \w+|<n> \w+ at (?:once|the same time)",
                        r"<n> tokens<a>(?:min|minute|hour|day|week|month|year)\b",
                        r"\b(?:don'?t|not|without|except|no) (?:want |use )?[a-z0-9.-]+"):
            found = self.take(pattern)
            if found:
                self.left.append(found[0].strip())

    def job(self):
        job = next((job for pattern, job in _JOBS if re.search(pattern, self.text)), "")
        large = sought(r"<n> tokens\b(?! (?:in|out|each)\b|<a>)", self.text)
        if not job and large and amount(large[1], large[2]) >= 1e8:
            job = "pretrain"
            self.granted.append("so many tokens are trained on, from scratch")
        if not job:
            self.granted.append("to serve it, since no word says what to do")
        self.inputs["job"], self.question = job or "serve", not job
        if job == "finetune" and not re.search(r"\bfull\b|\bsft\b", self.text):
            self.asks.append(Ask("job", "fine-tune", job, _TUNING))

    def number(self, found, name, counts):
        """A number that a rule found, as its input."""
        if not found:
            return
        digits, power, unit = found[1], found[2], found[3] if counts in ("time", "rate", "days", "hours", "first") else ""
        if counts == "money":
            digits, power, unit = found[1] or found[3], found[2] or found[4], found[5]
        elif counts == "first" and not digits:
            digits, power, unit = found[4], found[5], found[6]
        elif counts == "sum" and "month" in found[0]:
            unit = "month"
        times = amount(found[3], found[4]) if counts == "product" else _EXAMPLE if counts == "examples" else 1
        value, said = amount(digits, power) * times, found[0].strip()
        seconds = _SECONDS[re.sub("(?<=[a-z][a-z])s$", "", unit)] if unit and counts not in ("money", "sum") else 1
        if counts == "requests":
            self.put("messages_per_day", 1, found)
        meant = {"requests": "one request a day from each user, most of them in the busiest hour", "a day": f"{said}: a day",
                 "first": f"{said}: to the first token", "examples": f"{_EXAMPLE} tokens an example"}.get(
                     counts, f"{said}: the length of prompts" if name == "prompt" and "context" in said else "")
        self.granted = [*self.granted, *([meant] if meant else [])]
        if counts in ("money", "sum") and self.takes("usd_per_month") and (not unit or unit.startswith("mo")):
            self.put("usd_per_month", value, found)
            if not unit:
                self.granted.append(f"{said}: a month")
        elif (counts in ("money", "sum") and unit or counts == "inverse" and value > _FASTEST or not self.takes(name)
              or name == "sure" and value not in (50, 80, 90, 95)):
            self.left.append(said)
        else:
            self.put(name, rounded({"inverse": 1 / (value or 1), "time": value * seconds, "first": value * seconds,
                                    "rate": value / seconds, "share": value / 100, "days": value * seconds / 86400,
                                    "hours": value * seconds / 3600}.get(counts, value)), found)

    def takes(self, name):
        job = rows("jobs")[self.inputs["job"]]
        return name in [*job["needs"].replace("|", " ").split(), *job["takes"].split()]

    def cards(self):
        """GPUs, each with the number of them before it; more than one is any of them."""
        parts, kept, found, said, after = self.text.split(), [], [], [], 0
        for place in range(len(parts)):
            size = next((size for size in (5, 4, 3, 2, 1)
                         if named_gpus(parts[:place], parts[place:place + size], parts[place + size:])), 0)
            if place >= after and size:
                name = " ".join(parts[place:place + size])
                many, start = number_before(kept)
                meant = names.meant("gpu", name)
                found, said = [*found, *meant.names], [*said, (name, meant)]
                self.count = meant.number or many or self.count
                kept, after = [*kept[:start], "§"], place + size
            elif place >= after:
                kept = [*kept, parts[place]]
        if not found:
            return
        self.text, self.named = " ".join(kept), said
        self.inputs = self.inputs | {"cards": ", ".join([key for key in rows("gpus") if key in found])}
        single = self.inputs["job"] == "rent_or_buy"
        if single and "NVL72" in said[0][1].names[0] and (self.take(r"(?<=§ )racks?\b") or self.count < 2):
            self.count = 72 * max(self.count, 1)    # nobody sells less than a rack
        number = "gpus_per_server" if single else "gpus"
        if self.count and self.takes(number):
            self.inputs = self.inputs | {number: self.count}

    def of_cards(self):
        """Whose the cards are: so many of one, or one for a desk, with no load and no word of a price, are the reader's own."""
        job, named = self.inputs["job"], self.named[0][1].names if len(self.named) == 1 else []
        single, serves = job == "rent_or_buy", rows("jobs")[job]["kind"] == "serve"
        asked = serves and len([name for name in _LOADS if name in self.inputs]) == 0
        desk = all(rows("gpus")[key]["kind"] in ("consumer", "unified") for key in named)
        own = len(named) > 0 and self.takes("own_cards") and (
            self.take(_OWN) is not None or asked and not self.offered and (self.count > 0 or desk))
        for name, meant in self.named:
            if not meant.sure:
                taken, others = meant.names[0], [key for key in rows("gpus") if key in meant.names]
                self.asks.append(Ask("gpu" if single else "cards", name, taken if single or own else "any of them", others))
        if single and self.named:
            kept = {name: value for name, value in self.inputs.items() if name != "cards"}
            self.inputs = kept | {"gpu": self.named[0][1].names[0]}
        elif own:
            self.inputs = self.inputs | {"cards": named[0], "own_cards": self.count or 1}
            self.granted.append(f"you have {self.count if self.count > 1 else 'one'} of them")
        elif self.count and "gpus" not in self.inputs:
            self.granted.append(f"{self.count} of these: how many are needed is what the answer says")
        if asked and (own or self.memory):
            self.usual = {"requests_per_second": _ALONE}
        self.text = self.text.replace("§", "|")

    def provider(self):
        """A seller of the book, by name."""
        for seller in sorted(self.sellers, key=lambda each: -len(each)):
            if self.takes("provider") and re.search(rf"\b(?:on|from|at|with) {plain(seller)}\b", self.text):
                self.put("provider", seller, self.take(rf"\b(?:on|from|at|with) {plain(seller)}\b"))

    def model(self):
        """The model: the longest run of words that may name one, with a word before it that nobody knows."""
        parts, runs, after = self.text.split(), [], 0
        for place in range(len(parts)):
            size = next((size for size in range(len(parts) - place) if not may_name(parts[place + size])), len(parts) - place)
            if place >= after and size and names.telling(names.words(" ".join(parts[place:place + size]).split("/")[-1])):
                before = place > 0 and parts[place - 1] != "|" and parts[place - 1] not in _SAID
                runs = [*runs, (place - 1 if before else place, place + size)]
            after = max(after, place + size)
        for start, end in runs:
            self.of_model(" ".join(parts[start:end]))
        within = [place for start, end in runs for place in range(start, end)]
        self.text = " ".join(["|" if place in within else part for place, part in enumerate(parts)])

    def of_model(self, name):
        """A run of words as the model, where it means one."""
        meant = names.meant("model", name)
        if not meant.names or not self.takes("model") or "model" in self.inputs:
            self.left.append(name)
            if self.takes("model") and not meant.names:
                self.asks.append(Ask("model", name, "", names.near("model", name)))
            return
        self.inputs = self.inputs | {"model": meant.names[0]}
        if meant.stored and self.takes("weight_format"):
            self.inputs = self.inputs | {"weight_format": meant.stored}
        elif meant.stored:
            self.left.append(meant.stored)
        if not meant.sure:
            self.asks.append(Ask("model", name, meant.names[0], meant.names))

    def fitting(self):
        """Of cards that are counted, and no model named: the largest whose weights, as released, their memory holds."""
        if self.count and "cards" in self.inputs and "weight_format" not in self.inputs and not [
                ask for ask in self.asks if ask.key == "model"] and self.takes("model") and "model" not in self.inputs:
            room = _USED * self.count * min([rows("gpus")[key]["memory_bytes"] for key in self.inputs["cards"].split(", ")])
            found = [key for key, row in rows("models").items()
                     if row["params"] * rows("formats")[row["native_format"]]["weight_element_bytes"] <= room]
            largest = sorted(found, key=lambda key: -rows("models")[key]["params"])[:_CANDIDATES]
            if largest and rows("jobs")[self.inputs["job"]]["kind"] in ("serve", "offline"):
                self.usual = self.usual | {"model": largest[0]}
                self.asks.append(Ask("model", "largest model that fits", largest[0], largest))

    def format(self):
        """A format of weights that stands alone."""
        parts = self.text.split()
        for size in (3, 2, 1):
            for place in range(len(parts) - size + 1):
                meant = names.meant("weight_format", " ".join(parts[place:place + size]))
                if meant.sure and self.takes("weight_format") and "weight_format" not in self.inputs:
                    self.inputs = self.inputs | {"weight_format": meant.names[0]}
                    self.text = " ".join([*parts[:place], "|", *parts[place + size:]])
                    return

    def rest(self):
        """Words that nothing took, those that stand together as one."""
        kept = [part if part != "|" and part not in _SAID else "|" for part in self.text.split()]
        return [each for each in [part.strip() for part in " ".join(kept).split("|")] if each]


def understood(line: str, sellers: list[str]) -> Words:
    """What a line says, read; sellers are providers that may be named."""
    found = Words(line, sellers)
    found.read()
    return found


def begun(inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs with an example of each thing that the job needs and nobody gave."""
    held, presets = dict(inputs), [understood(line, []).inputs for line in PRESETS.values()]
    for name, *others in [need.split("|") for need in rows("jobs")[inputs["job"]]["needs"].split()]:
        if not {name, *others} & {*inputs}:
            given = example(inputs["job"], name, presets)
            held[name] = QUANTITIES[name].example if given is None else given
    # An example of the longest is none for longer answers: those are alike.
    return held | ({"output_p95": 0} if held.get("output", 0) > held.get("output_p95", math.inf) else {})


def example(job: str, name: str, presets: list[dict[str, Any]]) -> Any:
    """What the job begins with where nobody gave a name: its usual model, what a preset of it has, else one of its kind, or any;
    None where none does."""
    jobs = rows("jobs")
    if name == "model":
        return jobs[job]["usual_model"]
    near = sorted(presets, key=lambda each: [each["job"] != job, jobs[each["job"]]["kind"] != jobs[job]["kind"]])
    return next((each[name] for each in near if name in each), None)


def told(read: Words, given: list[str], more: list[str]) -> list[tuple[str, str]]:
    """What was understood, what was taken for granted and what was not understood, each behind its title.

    given, more: what the line gives and what stands for all else, as texts.
    """
    said = [("Understood", " · ".join(given)), ("Taken for granted", " · ".join([*read.granted, *more])),
            ("Not understood", ", ".join(read.left))]
    return [(title, text) for title, text in said if text]


def sought(pattern: str, text: str) -> Any:
    """Where a pattern with the parts <n>, <a> and so on fits first."""
    for name, part in _PARTS.items():
        pattern = pattern.replace(name, part)
    return re.search(pattern, text)


def plain(line: str) -> str:
    """The line in lower case, small numbers in digits, with bars where it pauses."""
    text = re.sub("[\u00a0\u2009\u202f]", " ", line.lower()).replace("×", "x")
    text = re.sub(r"(?<!\d),|,(?!\d)|[;?!()“”\"|]|\.(?= |$)|:(?= |$)", " | ", text)
    text = re.sub(r"\b(one|two|three|four|five|six|seven|eight|ten|twelve|sixteen)\b", lambda found: _COUNTS[found[1]], text)
    text = re.sub(r"\bon (\d+(?:\.\d+)?) ?t\b(?! ?tok)", r"on \1t tokens", text)
    text = re.sub(r"\b((?!l40s)[a-z]{1,3}\d{2,4}x?|[1-9]0\d0)s\b", r"\1", text)
    text = re.sub(r"\b(?:(?:nvidia|geforce|rtx|gtx) )+(?=[a-z]?\d|pro\b)", "", text)
    return " ".join(re.sub(r"\b(\d+) ?x ?(?!\d+b)(?=[a-z0-9])", r"\1 x ", text).split())


def amount(digits: str, power: str | None) -> float:
    """A number with what multiplies it."""
    return float(f"{digits.replace(',', '')}e{_POWERS[power] if power else 0}")


def rounded(value: float) -> float:
    """Without what the last binary digit adds."""
    return float(f"{value:.12g}")


def named_gpus(before: list[str], parts: list[str], behind: list[str]) -> bool:
    """Whether words are the whole name of a GPU, and more than a number or a word that other things have too.

    "4090 in" is a prompt, "a 4090 in 4 bits" is none."""
    words = names.gpu_words(names.counted(" ".join(parts))[0])
    known = names.of_gpus()
    if not words or "|" in parts or not all(word in known for word in words) or not names.gpu_words(parts[0]):
        return False
    strong = [word for word in words if not re.fullmatch(_WEAK, word) and not re.fullmatch(_VARIANT, word)]
    several = [word for word in words if not re.fullmatch(_VARIANT, word)]
    counted = words[0].isdigit() and behind and re.fullmatch(_THINGS, behind[0]) and not (before and before[-1] in _ONE)
    if not strong and len(several) < 2 or counted:
        return False
    return bool(names.meant("gpu", " ".join(parts)).names)


def number_before(parts: list[str]) -> tuple[int, int]:
    """The number of cards that the words before a GPU end in, and where it begins; 0 where there is none."""
    bare = parts[:-1] if parts and parts[-1] == "x" else parts
    found = re.fullmatch(r"(\d+(?:,\d{3})*)(k?)", bare[-1]) if bare else None
    if found:
        return int(found[1].replace(",", "")) * (1000 if found[2] else 1), len(bare) - 1
    return (1, len(parts) - 1) if parts and parts[-1] in ("a", "an", "single") else (0, len(parts))


def may_name(part: str) -> bool:
    """Whether a word may be one of a model's name."""
    words = names.words(part.split("/")[-1])
    if part in _NO_NAMES:
        return False
    if "/" in part and not part.startswith("/") and names.telling(words):
        return True
    return bool(words) and all(
        word in names.vocabulary() or re.fullmatch(_VERSION, word) or names.telling([word]) for word in words)

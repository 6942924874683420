"""The page of drills as a notebook has it: where its script asks, what the levels mean, and a sheet that needs no script."""
import functools
import html
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TYPE_CHECKING

from gpucalc.core import figures
from gpucalc.core.arithmetic import HOURS_PER_DAY, HOURS_PER_MONTH, HOURS_PER_YEAR, SECONDS_PER_HOUR
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import hourly, number, percent, usd
from gpucalc.core.quantities import DATA, DEFAULTS
from gpucalc.decisions.run_speeds import planned_mfu
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.mapping import read_mapping
from gpucalc.rows.price_book import cheapest_first, select
from gpucalc.rows.rents import cheapest_rent
from gpucalc.rows.tables import rows
from ..components.dates import marked_date
from ..components.links import PAGES
from ..components.show import Html, table
from ..web import drills


# What stands where the page's script puts the drills.
_APP = ('<div id="drill-app"><p>Here the page asks one question after the other. No script runs now: '
        "the sheet below has questions of each topic.</p></div>")


def app() -> Html:
    return Html(_APP, "The drills, on the page itself")


def levels_table() -> Html:
    """What the levels mean, with the number of drills of each."""
    from pandas import DataFrame
    every = drills.drills().values()
    frame = DataFrame([dict(level=str(level), asks=said.capitalize(), drills=sum(one.level == level for one in every))
                       for level, said in drills.LEVELS.items()])
    return table(frame, "The levels", labels={"asks": "what a question takes"})


def sheet() -> Html:
    """One draw of two drills by topic, with the key folded: for print, and for who runs no scripts."""
    asked, key = [], []
    for topic in drills.topics():
        drawn = [(one, _drawn(one)) for one in shown(topic)]
        title = f"<h3>{html.escape(drills.title(topic))}</h3>"
        lines = "".join(f"<li>{html.escape(_question(one, case))}</li>" for one, case in drawn)
        answers = "".join(f"<li>{html.escape(figures.in_unit(one.answer(case), one.unit))}</li>" for one, case in drawn)
        asked.append(f"{title}<ol>{lines}</ol>")
        key.append(f"{title}<ol>{answers}</ol>")
    folded = f'<details class="drill-key"><summary>Key</summary>{"".join(key)}</details>'
    return Html(f'<div id="drill-sheet">{"".join(asked)}{folded}</div>', "A sheet of questions with a key")


def shown(topic: str) -> list[drills.Drill]:
    """The drills of a topic on the sheet that needs no script: the first of one step and the first of one formula."""
    first = {one.level: one for one in reversed(drills.drills(topic).values())}
    return [first[level] for level in (1, 2) if level in first]


def _drawn(one):
    """One draw of a drill, the same each time."""
    draw = random.Random(one.name)
    return one.case({name: draw.choice(values) for name, values in one.draw.items()})


def _question(one, case):
    return f"{one.asked(case)} {drills.asked_in(one.unit)}".rstrip()


# Numbers to know by heart: each as one says it, and in full, with what it is for and where it is explained


if TYPE_CHECKING:
    from pandas import DataFrame

GAMING = "RTX 4090 24GB"
CARDS = ("A100 SXM 80GB", "H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB", "MI355X 288GB", GAMING)
RACK = "GB200 NVL72"
MODELS = ("Llama-3-8B", "Llama-3-70B")
RECIPES = {"bf16-adamw": "AdamW all in BF16", "mixed-adamw": "AdamW in mixed precision",
           "mixed-adamw-fp32-grads": "mixed precision, FP32 gradients", "adamw-8bit": "AdamW in 8 bits"}
LINKS = {"NVLink 3": "A100", "NVLink 4": "H100", "NVLink 5": "B200, GB200", "PCIe 4 x16": "RTX 4090, A100",
         "PCIe 5 x16": "H100, B200", "InfiniBand NDR": "a port between nodes", "InfiniBand XDR": "a port between nodes",
         "Ethernet 100G": "a port between nodes"}
LATENCIES = {"L2": "L2 of an H100", "HBM": "memory of an H100", "NVMe": "local disk",
             "network storage": "storage over the network"}
JOB = 16_384
CHAT, API = 8192, "Llama-3-70B"


class Known(NamedTuple):
    """A number: what it is `of`, its value, its unit of units.csv or a formatter, its use, its page, the date of a price."""

    of: str
    value: float
    unit: str
    use: str
    page: str
    date: str = ""


_FORMS = {"percent": percent, "usd": usd, "hourly": hourly}


@functools.cache
def spoken() -> dict[str, tuple[str, float]]:
    """What is said of each number that is no price, and the value of that."""
    return {name: (str(words), value) for name, (words, value) in read_mapping(DATA / "texts/numbers.yaml").items()}


def said(known: Known) -> str:
    """The number as one says it, from data/texts/numbers.yaml; a price at two figures."""
    text = in_full(known._replace(value=float(f"{known.value:.1e}"))) if known.date else spoken()[known.of][0]
    return re.sub(r"(\.\d*?)0+(?=\D|$)", r"\1", text).replace(". ", " ").removesuffix(".")


def in_full(known: Known) -> str:
    """The number at three figures, whole counts in full."""
    return _FORMS[known.unit](known.value) if known.unit in _FORMS else number(known.value, known.unit)


def sections(book: "DataFrame") -> dict[str, list[Known]]:
    """All numbers by section, with prices of the book."""
    return {title: list(make(book) if title == "Money and time" else make()) for title, make in _SECTIONS.items()}


def _memory() -> Iterator[Known]:
    for name, text in {"BF16": "BF16", "FP8": "FP8", "INT4-g128": "INT4 with its scales"}.items():
        found = Case(weight_format=name)("format_element_bytes")
        yield Known(f"a weight in {text}", found, "byte", "weights = parameters × this", "quantization")
    for name, text in RECIPES.items():
        found = Case(recipe=name)("bytes_per_param")
        yield Known(f"a parameter in training: {text}", found, "byte", "state = parameters × this", "training_memory")
    large = Case(model="DeepSeek-V3")
    yield Known("parameters of DeepSeek-V3", large("params"), "", "what has to be held", "experts")
    yield Known("of them used by a token", large("active_params"), "", "work of a token", "experts")
    for name, kind in [*((name, kind) for name in MODELS for kind in ("BF16", "FP8", "INT4-g128")), ("DeepSeek-V3", "FP8")]:
        found = Case(model=name, weight_format=kind)("quantized_weight_bytes")
        yield Known(f"{name} in {kind.removesuffix('-g128')}", found, "byte", "what has to fit first", "model_size")
    for name in ("Llama-3-8B", "Llama-3-70B", "DeepSeek-V3"):
        found = Case(model=name, cache_element_bytes=2)("kv_bytes_per_token")
        yield Known(f"cache of a token, {name}", found, "byte", "cache = this × context × users", "kv_cache")
    chat = Case(model=API, cache_element_bytes=2, context=CHAT, batch=1)("kv_bytes")
    yield Known(f"cache of {CHAT:,} tokens, {API}", chat, "byte", "how many users fit", "kv_cache")


def _work() -> Iterator[Known]:
    one = Case(active_params=1, lookup_params=0, training_tokens=1)
    yield Known("FLOP for a parameter and token, forward", one("token_flops"), "", "time of a prompt", "model_size")
    yield Known("FLOP for a parameter and token, trained on", one("training_flops"), "", "length of a run", "training_time")
    thumb = DEFAULTS["tokens_per_param"].value
    yield Known("training tokens a parameter, rule of thumb", thumb, "", "size of a model for its FLOP", "training_time")
    text = DEFAULTS["token_text_bytes"].value
    yield Known("characters of English a token", text, "", "text to tokens", "training_cost")
    for name in ("A100 SXM 80GB", "H100 SXM 80GB"):
        usual = planned_mfu().loc[name].plan
        yield Known(f"usual MFU on {name}, published runs", usual, "percent", "GPU-hours of a run", "training_cost")
    serving = Case(model="Llama-3.3-70B", gpu="H100 SXM 80GB", tensor_parallel=4, link="NVLink 4", weight_format="FP8",
                   narrow_products=1, efficiency="achieved", prompt=1000, output=300, context=1150)
    for users, text in {1: "one user", 64: "64 users"}.items():
        found = serving.but(batch=users)("output_tokens_per_second")
        yield Known(f"tokens a second, 70B in FP8, {text} on 4 × H100", found, "token/second", "size of a service", "serving")


def _cards() -> Iterator[Known]:
    for name in CARDS:
        card = catalogue.gpu(name)
        yield Known(f"{name}: bandwidth", card.bandwidth, "byte/second", "time of a token", "cards")
        yield Known(f"{name}: dense BF16 peak", card.peak_flops, "FLOP/second", "time of a prompt or step", "cards")
        for bits, peak in {8: card.fp8_flops, 4: card.fp4_flops}.items():
            if name != GAMING and peak == peak:
                yield Known(f"{name}: dense FP{bits} peak", peak, "FLOP/second", "time of a prompt or step", "cards")
        ridge, once = Case(gpu=card)("ridge_point"), card.memory_bytes / card.bandwidth
        yield Known(f"{name}: ridge point", ridge, "FLOP/byte", "users that share a read for free", "arithmetic_intensity")
        yield Known(f"{name}: memory read once", once, "second", "least time of a token if full", "arithmetic_intensity")
    yield Known("H100 SXM 80GB: power", catalogue.gpu("H100 SXM 80GB").tdp_watts, "watt", "electricity and cooling", "break_even")
    rack = rows("nodes")[RACK]
    all_of_it = Case(gpu=rack["gpu"], gpus=rack["gpus"])
    for text, law, unit in (("memory", "node_memory_bytes", "byte"), ("dense FP8 peak", "node_fp8_flops", "FLOP/second"),
                            ("dense FP4 peak", "node_fp4_flops", "FLOP/second")):
        yield Known(f"{RACK}, {rack['gpus']:.0f} GPUs: {text}", all_of_it(law), unit, "what one rack does", "nodes")
    yield Known(f"{RACK}, {rack['gpus']:.0f} GPUs: power", rack["power_watts"], "watt", "electricity and cooling", "nodes")


def _links() -> Iterator[Known]:
    for name, where in LINKS.items():
        found = catalogue.link(name).link_bandwidth
        yield Known(f"{name}, one way ({where})", found, "byte/second", "time of an exchange", "interconnect")
    for name, text in LATENCIES.items():
        yield Known(f"latency: {text}", rows("memories")[name]["latency"], "second", "least time to fetch", "cards")
    least = catalogue.efficiency("achieved").kernel_seconds
    yield Known("least time of a kernel", least, "second", "why small kernels hurt", "arithmetic_intensity")
    pair = Case(model=API, gpu="H100 SXM 80GB", link="NVLink 4", ranks=8, tensor_parallel=8, efficiency="achieved", batch=1,
                message_bytes=2 * catalogue.model(API).hidden)
    found = pair("engine_all_reduce_seconds")
    yield Known("an engine's all-reduce of one token, 8 × H100", found, "second", "twice a layer if split", "interconnect")


def _money(book) -> Iterator[Known]:
    rent = cheapest_rent(book, gpu="H100 SXM 80GB", term="on-demand")
    yield Known("hours in a month", HOURS_PER_MONTH, "", "rent of a month", "break_even")
    yield Known("seconds in a day", HOURS_PER_DAY * SECONDS_PER_HOUR, "", "requests a day to requests a second", "serving")
    hour, month = f"an H100-hour on demand, cheapest at list prices ({rent.provider})", rent.usd_per_hour * HOURS_PER_MONTH
    yield Known(hour, rent.usd_per_hour, "hourly", "any bill", "break_even", rent.date)
    yield Known("an H100 for a month at that price", month, "usd", "a server has eight", "break_even", rent.date)
    for item, text in {"api-input": "in", "api-output": "out"}.items():
        found = select(book, item=item, sku=API)
        best = cheapest_first(found[firm(found)] if firm(found).any() else found).iloc[0]
        name = f"a million tokens {text}, {API}, cheapest API ({best.provider})"
        yield Known(name, best.price, "usd", "own servers or an API", "serving_cost", best.date)
    failure = rows("assumptions")["gpu_failure_seconds"]["likely"]
    years = failure / SECONDS_PER_HOUR / HOURS_PER_YEAR
    yield Known("years until one GPU stops a job", years, "year", "failures of a run", "failures")
    stop = Case(gpu_failure_seconds=failure, gpus=JOB)("job_failure_seconds")
    yield Known(f"time between stops on {JOB:,} GPUs", stop / SECONDS_PER_HOUR, "hour", "interval of checkpoints", "failures")


_SECTIONS: dict[str, Any] = {"Memory": _memory, "Work": _work, "Cards": _cards, "Links and latencies": _links,
                             "Money and time": _money}


def known_table(title: str, known: list[Known]) -> Html:
    """The numbers of a section, both figures in cells that the script can cover."""
    body = "".join(
        f'<tr><th scope="row">{html.escape(each.of)}{_dated(each)}</th><td class="know-said">{html.escape(said(each))}</td>'
        f'<td class="know-full">{html.escape(in_full(each))}</td><td>{html.escape(each.use)}</td>'
        f'<td><a href="{each.page}.html">{html.escape(PAGES[each.page])}</a></td></tr>' for each in known)
    heads = "".join(f'<th scope="col">{text}</th>' for text in ("What", "To say", "In full", "What for", "Lesson"))
    return Html(f'<figure class="data-table know"><figcaption>{html.escape(title)}</figcaption><div class="table-scroll">'
                f'<table class="data">'
                f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div></figure>", f"{title}: {len(known)} numbers")


def _dated(known):
    return f" <small>{marked_date(known.date)}</small>" if known.date else ""

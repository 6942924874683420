"""Which fine-tune fits one card: what each way to tune needs at a number of tokens, and which sizes of card hold it."""
import json

from gpucalc.core.evaluate import Case
from gpucalc.rows.bands import CLOSE
from ..components.account import need
from ..components.measured import compare, signed_percent
from ..components.memory_charts import in_bytes, verdict
from ..components.picture import Sheet
from ..components.show import Html, table
from ..components.sizes import LEAN, card_bytes

# Ways to tune a model, by recipe: those of the front page's jobs, and one between.
WAYS = {"full": "mixed-adamw", "8-bit": "adamw-8bit", "LoRA": "lora", "QLoRA": "qlora"}
SIZES, TOKENS = (12, 16, 24, 48, 80), (2048, 8192)
# Color of a verdict's cell, of its mark, and the mark.
MARKS = {"fits": ("c", "paper", "yes"), CLOSE: ("wash", "ink", "?"), "does not fit": (None, "soft", "no")}


def tuning(model, way: str, tokens: int, **more) -> Case:
    """Tuning a model on one card in one of the WAYS, with one sequence in memory, as the front page falls back to on one card."""
    return Case(model=model, recipe=WAYS[way], sequence=tokens, **LEAN | more)


def on_one_card(model):
    """For each way and number of tokens what to plan for, the range of eight in ten, and for each size whether it fits."""
    from pandas import DataFrame
    rows = []
    for way in reversed(WAYS):
        for tokens in TOKENS:
            band = need(tuning(model, way, tokens))
            sizes = {size: verdict(band, card_bytes(size)) for size in SIZES}
            rows.append(dict(way=way, tokens=tokens, value=band.value, plan=band.plan, low=band.low, high=band.high) | sizes)
    return DataFrame(rows)


def one_card_picture(model: str) -> Html:
    """`on_one_card` as a drawn table, all of which a phone shows: what to plan for, its range, and a verdict for each size."""
    found = on_one_card(model)
    sheet = Sheet(30 + 27 * len(found))
    for x, said, at in ((2, "way, tokens", "start"), (144, "plan for", "end"), (150, "8 in 10", "start"), *(
            (_center(place), str(size), "middle") for place, size in enumerate(SIZES))):
        sheet.text(x, 14, said, at, "soft", size=12)
    for row, line in enumerate(found.to_dict("records")):
        y = 40 + 27 * row
        sheet.text(2, y, f"{line['way']}, {line['tokens'] // 1024}k").text(144, y, in_bytes(line["plan"]), "end", bold=True)
        sheet.text(150, y, _range(line), color="soft", size=12)
        for place, size in enumerate(SIZES):
            color, ink, mark = MARKS[line[size]]
            sheet.box(_center(place) - 14, y - 16, 28, 22, color).text(_center(place), y, mark, "middle", ink, size=12)
    return sheet.picture(_finding(model, found), "; ".join(map(_said, found.to_dict("records"))))


def _center(place):
    return 252 + 33 * place


def _range(row):
    """`12.7 to 16.6`, with units only where they are not that of the plan value."""
    ends, unit = [in_bytes(row[end]) for end in ("low", "high")], in_bytes(row["plan"]).partition(" ")[2]
    return " to ".join(ends).replace(f" {unit}", "")


def _said(row):
    words = ", ".join(f"{size} GB {row[size]}" for size in SIZES)
    return f"{row['way']} with {row['tokens']:,} tokens: plan for {in_bytes(row['plan'])}, 8 in 10 {_range(row)}: {words}"


def _finding(model, found):
    """The smallest card that holds the model in some way, and which way that is."""
    size, row = next(((size, row) for size in SIZES for row in found.to_dict("records") if row[size] == "fits"), (0, None))
    if row is None:
        return f"No card of up to {SIZES[-1]} GB tunes {model}"
    return f"The smallest card that tunes {model} has {size} GB, by {row['way']} with {row['tokens']:,} tokens"


def one_card_table(model: str, caption: str) -> Html:
    """`on_one_card` whole, what to plan for beside the formula's figure."""
    found = on_one_card(model)
    found.columns = [f"{name} GB" if name in SIZES else name for name in found.columns]
    return table(found, caption, labels={"value": "formula", "plan": "plan for", "low": "8 in 10 from", "high": "to"},
                 formats=dict.fromkeys(("value", "plan", "low", "high"), in_bytes))


def measured_on_one_card(models, tokens=TOKENS):
    """Published peaks of tuning one of these models on one GPU with sequences of so many tokens, beside the formulas' figures."""
    found = compare("training_memory", "measured")
    given = found["inputs"].map(json.loads)
    alike = [given_.get("model") in models and given_.get("sequence") in tokens and given_.get("data_parallel", 1) == 1
             and given_.get("zero_stage", 0) == 0 for given_ in given]
    return found[alike]


def measured_table(models, caption: str) -> Html:
    """`measured_on_one_card` to read, each run in a few words."""
    found = measured_on_one_card(models)
    runs = found.assign(run=[_run(subject, json.loads(given)) for subject, given in zip(found["subject"], found["inputs"])])
    return table(runs[["run", "value", "predicted", "error"]], caption,
                 labels={"value": "measured", "predicted": "formula", "error": "off"},
                 formats={"value": in_bytes, "predicted": in_bytes, "error": lambda error: signed_percent(round(error, 2))})


def _run(subject, given):
    """`Llama-3-8B QLoRA, 2 × 2,048`, with the name of code that was not the usual one."""
    way = {"lora": "LoRA", "qlora": "QLoRA"}.get(given["recipe"], "full")
    code = "".join(f", {name}" for name in ("Unsloth",) if name in subject)
    return f"{given['model']} {way}{code}, {given['micro_batch']} × {given['sequence']:,}"

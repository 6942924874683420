"""What a lesson shows of a reader's case: formulas by page and kind of job, and their words, as scripts."""
import ast
import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

from gpucalc.core import printer
from gpucalc.core.evaluate import Case
from gpucalc.core.expression import names, plain, tree
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DEFAULTS, QUANTITIES
from gpucalc.decisions import token_offers
from gpucalc.decisions.answer import Answer, judged, of_choice
from gpucalc.decisions.jobs import JOBS, LAYOUT, READING, REPLICAS, RUN, trains, WINDOW
from gpucalc.decisions.points import moved
from gpucalc.rows import bands
from gpucalc.rows.texts import conditional, read_texts
from ..components.derivation import called
from . import export, javascript


# A law in words as a JavaScript template, which a browser fills: the terms that are 0 go, of a choice what holds is said.
#
# `template` gives the text of a function of texts and values by name; it stands below javascript.HEAD and `HELPERS`.

# Of an extreme of long parts only the one that counts is said.
_LONG = 120
HELPERS = r"""  const sum = (...terms) => {
    const left = terms.filter(([value]) => value !== 0), kept = left.length ? left : terms.slice(0, 1);
    return kept.map(([, text, minus], k) => (minus ? (k ? " − " : "−") : k ? " + " : "") + text).join("");
  };
  const open = (text) => text.replace(/\([^()]*\)/g, "");
  const bare = (text) => (open(text) === text ? text : bare(open(text)));
  const closed = (text) => (/ [×/+−^] |^−/.test(bare(text)) ? `(${text})` : text);
  const whole = (text) => (text.startsWith("(") && bare(text) === "" ? whole(text.slice(1, -1)) : text);
  const counting = (least, parts) => parts.reduce((a, b) => ((least ? b[0] < a[0] : b[0] > a[0]) ? b : a))[1];
"""


def template(law):
    """The function of texts `t` and values `v` by name that gives the law's right-hand side, as JavaScript."""
    expression = printer.operators(tree(law))
    neutral = {name for name, value in law.defaults.items() if value == 1 and name not in DEFAULTS}
    return f"(t, v) => whole(`{_Template(names(expression), neutral).whole(expression)}`)"


def needed(law):
    """Names in the law's words: its arguments, and other laws that stand as their names."""
    return names(printer.operators(tree(law)))


class _Template(printer.Words):
    """The words of an expression with the names left open, as the inside of a template literal."""

    def __init__(self, quantities, neutral):
        super().__init__(lambda name: f"${{t.{name}}}")
        self.neutral = neutral
        self.texts = {name: f"v.{name}" for name in quantities}

    def whole(self, node):
        match node:
            case ast.Call(ast.Name("where"), [condition, a, b]):
                return self.chosen(condition, self.whole(a), self.whole(b))
        terms = printer.terms_of(node)
        if len(terms) == 1 and terms[0][0] > 0:
            return self.term(node)
        parts = (f"[{self.value(term)}, `{self.term(term)}`{', 1' if sign < 0 else ''}]" for sign, term in terms)
        return f"${{sum({', '.join(parts)})}}"

    def term(self, node):
        """A product without what comes to 1: a choice, or a feature that is left out."""
        (_, first), *others = printer.cancelled(printer.factors_of(node))
        return self.leading(first) + "".join(self.factor(" / " if divides else " × ", part) for divides, part in others)

    def leading(self, node):
        match node:
            case ast.Call(ast.Name("where"), [condition, a, b]):
                return self.chosen(condition, self.leading(a), self.leading(b))
            case ast.BinOp(_, ast.Mult() | ast.Div(), _):
                return self.term(node)
        return self.atom(node)

    def factor(self, sign, node):
        match node:
            case ast.Call(ast.Name("where"), [condition, a, b]):
                return self.chosen(condition, self.factor(sign, a), self.factor(sign, b))
            case ast.Name(name) if name in self.neutral:
                return f"${{v.{name} === 1 ? '' : `{sign}{self.atom(node)}`}}"
            case ast.BinOp(ast.Constant(1), ast.Sub(), _):
                return f"${{{self.value(node)} === 1 ? '' : `{sign}{self.atom(node)}`}}"
        return "" if plain(node) == 1 else sign + self.atom(node)

    def atom(self, node):
        match node:
            case ast.Call(ast.Name("where"), [condition, a, b]):
                return self.chosen(condition, self.atom(a), self.atom(b))
            case ast.Call(ast.Name("maximum" | "minimum" as extreme), given) if self.long(given):
                parts = (f"[{self.value(part)}, `{self.whole(part)}`]" for part in given)
                return f"${{closed(counting({'true' if extreme == 'minimum' else 'false'}, [{', '.join(parts)}]))}}"
        return super().atom(node)

    def long(self, given):
        return any(len(printer.words(part)) > _LONG for part in given)

    def fenced(self, fence, text):
        return f"${{closed(`{text}`)}}" if fence == self.group else fence % text

    def chosen(self, condition, a, b):
        return f"${{{self.value(condition)} ? `{a}` : `{b}`}}"

    def value(self, node):
        return javascript.in_javascript(node, self.texts)


# What a lesson says of a reader's case, by page and kind of decision; the head of the file says how it is written.

_SAID = read_texts("lessons")
TITLES: dict[str, str] = _SAID["titles"]
_SENTENCES = conditional("lessons", _SAID["texts"])
TEXTS = {page: {kind: [part for name in names for part in _SENTENCES[name]] for kind, names in kinds.items()}
         for page, kinds in _SAID["pages"].items()}


# What a lesson shows of a reader's case: its formulas by page and kind of job, and what they say in a sentence, as data.
#
# `script` makes one classic script of it; book/static/lesson.js shows it and `worked` gives the same figures.


class View(NamedTuple):
    """The laws that a lesson shows, in order; one may stand with another row, (law, {kind: name}), unless the case has that one.

    given: numbers, names of laws or names of rows that hold for all of them. held: figures of the choice, to plan for, that stand
    for the laws of their names. paced: those that are shown with the prompts of a request in the band of the whole, as its
    decision has them. worst: an axis, 0 and 1, and a law, which is the largest over it. A law that the case cannot answer is
    not shown, nor one that comes to 0, nor the last one alone.
    """

    laws: tuple
    given: dict = {}
    held: tuple = ()
    paced: tuple = ()
    worst: tuple[str, str] | None = None


# What holds for the figures of a choice, as its decision says.
_WHOLE, _MEAN, _READ = JOBS["serve"].cards[0].given, REPLICAS.given, READING.given
_TIMES = ("replica_prefill_seconds", "replica_pass_seconds")
_PROMPTS = ("prompt_turn_seconds", "prompt_seconds")
_SHARES = ("fixed_share", "growing_share")
_REQUEST = ("time_per_output_token", "request_seconds")
_FORMATS = ("BF16", "FP8", "INT4-g128")
_WEIGHTS_VIEW = View(("gpu_weight_bytes", *(("gpu_weight_bytes", {"weight_format": name}) for name in _FORMATS)))
_CACHE = View(("kv_bytes_per_token", "sequence_kv_bytes", "kv_bytes", "engine_room_bytes", "concurrency"),
              {**_WHOLE, "replica_gpus": "tensor_parallel"})
_PASS_VIEW = View(("read_bytes", "kv_bytes", "decode_bytes", "decode_flops", "critical_batch"), _MEAN)
_APART = ("prompt_turn_seconds", "time_per_output_token", "disturbed_seconds", "even_output", "prompt_ratio", "prompt_kv_bytes")
_EXPERTS_VIEW = View(("active_params", "touched_experts", "read_bytes", "pass_token_bytes", "experts_critical_batch"), _MEAN)
_EXCHANGE_VIEW = View(("exchange_seconds", "replica_pass_seconds"), _MEAN)
_WINDOW_VIEW = View(("replica_seconds", "window_replicas", "busy_hours", "rented_gpus"), WINDOW.given, _TIMES)
_WINDOW_COST = _WINDOW_VIEW._replace(laws=("window_replicas", "rented_gpus", "window_usd", "api_request_usd"))
_OWNED_VIEW = View(("fixed_usd_per_hour", "work_usd_per_hour", "level_usd_per_hour", "break_even_utilization",
                    "owned_usd_per_hour"))
_SLOWEST = ("last_stage", "step_seconds")
_STEP = ("micro_batch_seconds", "bubble_seconds", "exposed_data_seconds", "update_seconds", "step_seconds")

# By page and kind of job; of a kind that is not there a lesson has nothing to say.
VIEWS: dict[str, dict[str, View]] = {
    "model_size": dict.fromkeys(("serve", "offline", "embed"), View(("params", "token_flops", "read_bytes"), _MEAN)) | {
        "train": View(("params", "token_flops"), LAYOUT.given)},
    "arithmetic_intensity": {"serve": _PASS_VIEW, "offline": _PASS_VIEW,
                             "embed": View(("prefill_flops", "replica_prefill_seconds"), _READ)},
    "kv_cache": {"serve": _CACHE, "offline": _CACHE},
    "quantization": {"serve": _WEIGHTS_VIEW, "offline": _WEIGHTS_VIEW, "embed": _WEIGHTS_VIEW},
    "training_memory": {"train": View(("held_weight_bytes", "held_gradient_bytes", "held_master_bytes", "held_optimizer_bytes",
                                       "activation_bytes", "peak_bytes", "training_bytes"),
                                      LAYOUT.given, (), (), ("last_stage", "training_bytes"))},
    "interconnect": {"serve": _EXCHANGE_VIEW, "offline": _EXCHANGE_VIEW,
                     "embed": View(("prompt_exchange_seconds", "replica_prefill_seconds"), _READ),
                     "train": View(("tensor_bytes", "context_bytes", "expert_bytes", "pipeline_bytes", "data_bytes",
                                    "data_seconds", "exposed_data_seconds", "step_seconds"), LAYOUT.given, (), (), _SLOWEST)},
    "serving": {
        "serve": View(("first_token_alone", "time_per_output_token", "request_seconds", "offered_load", "waiting_seconds",
                       "answer_seconds", "planned_replicas", "rented_gpus"), _MEAN,
                      (*_TIMES, *_PROMPTS, "prompt_host_seconds", *_SHARES, *_REQUEST, "replicas_required"), _REQUEST),
        "offline": _WINDOW_VIEW, "embed": _WINDOW_VIEW._replace(laws=_WINDOW_VIEW.laws[1:], given=_READ)},
    "experts": {"serve": _EXPERTS_VIEW._replace(laws=(*_EXPERTS_VIEW.laws, *_APART), held=_TIMES), "offline": _EXPERTS_VIEW},
    "training_time": {"train": View(("step_tokens", "step_flops", *_STEP, "layout_mfu"), LAYOUT.given, (), (), _SLOWEST)},
    "layouts": {"train": View(("left_data_parallel", "layout_gpus", "left_micro_batches", "step_tokens", "pipeline_bubble"),
                              LAYOUT.given)},
    "break_even": dict.fromkeys(("own", "serve", "offline", "embed", "train"), _OWNED_VIEW),
    "training_cost": {"train": View(("layout_gpu_hours", "planned_gpu_hours", "stopped_gpu_hours",
                                     "compute_usd", "training_days"), RUN.given, ("step_seconds",))},
    "serving_cost": {
        "serve": View(("rented_gpus", "serving_usd_per_month", "paid_request_usd", "api_request_usd"),
                      {**_MEAN, "requests_per_month": "mean_requests_per_month"}, (*_TIMES, "replicas_required")),
        "offline": _WINDOW_COST, "embed": _WINDOW_COST._replace(given=_READ)},
}


def shown(view: View) -> list[tuple[str, dict]]:
    """The laws of a view, each with rows of its own."""
    return [(each, {}) if isinstance(each, str) else each for each in view.laws]


def laws() -> list[str]:
    """Every law that a lesson shows."""
    return list(dict.fromkeys(law for views in VIEWS.values() for view in views.values() for law, _ in shown(view)))


def chosen(answer: Answer, book: Any) -> Case:
    """The case of an answer with the columns of its choice put in, and the prices of the cheapest API whose prices are firm."""
    held = of_choice(answer.case, answer.best or {})
    if trains(answer.kind) or "output" not in held.inputs:
        return held
    offers = token_offers.priced_offers(book, held.rows["model"].name, held)
    firm = offers[offers["firm"]]
    prices = firm.iloc[0].filter(regex="_usd_per_million$").astype(float).to_dict() if len(firm) else {}
    return held.but(**prices)


def held(view: View, case: Case, best: dict[str, Any]) -> Case:
    """The case that a lesson shows: with what holds for it, and the figures of the choice, `best`, that it plans for."""
    here = case.but(**view.given, **{name: float(best[name]) for name in view.held if name in best})
    if not view.worst:
        return here
    axis, law = view.worst
    return max((here.but(**{axis: last}) for last in (0, 1)), key=lambda one: one(law))


def worked(view: View, case: Case, best: dict[str, Any]) -> list[tuple[str, float, dict[str, float]]]:
    """The name, the value and the arguments of each law that is shown of a case; `best` has the figures that are held."""
    here = held(view, case, best)
    paced = _paced(here, best) if view.paced else here
    steps = (_step((paced if law in view.paced else here).but(**rows), law) for law, rows in shown(view)
             if not any(getattr(here.rows.get(kind), "name", None) == name for kind, name in rows.items()))
    found = [step for step in steps if step and step[1] != 0]
    return found if len(found) > 1 or len(view.laws) == 1 else []


def _paced(here, best):
    """The case with its prompts in the band of a whole request, as far along both as the plan is sure."""
    reading, pace = (moved(bands.factors(here, LAWS[law]), judged(here)) for law in (_TIMES[0], _REQUEST[1]))
    return here.but(**{name: float(best[name] * pace / reading) for name in (_TIMES[0], *_PROMPTS)})


def _step(here, law):
    try:
        step = here.explain(law).steps[-1]
    except (ValueError, KeyError):
        return None
    return law, float(step.value), {name: float(value) for name, value in step.arguments.items()}


def columns(follow: Iterable[str]) -> list[str]:
    """What laws and figures that follow a reader's case take from rows, by name."""
    found = javascript.reached(name for name in follow if name in LAWS)
    named = {*follow, *(name for law in found for name in LAWS[law].arguments)}
    return sorted(name for name in named if name in QUANTITIES and name not in LAWS)


def script(follow: Iterable[str] = ()) -> str:
    """The script that sets `gpucalc.lessons`, and the laws and quantities that the front page has no need of.

    follow: names of further laws and quantities that lessons show of a reader's case.
    """
    formulas = {name: template(LAWS[name]) for name in laws()}
    named = {name: dict.fromkeys([*LAWS[name].arguments, *needed(LAWS[name])]) for name in formulas}
    inner = {name: [each for each in named[name] if each not in LAWS[name].arguments] for name in formulas}
    shown_laws = [name for name in follow if name in LAWS]
    there = set(export.laws([*export.OWNING_LAWS, *export.OWNING_QUANTITIES]))
    more = [name for name in javascript.reached([*formulas, *itertools.chain(*inner.values()), *shown_laws])
            if name not in there]
    words = {name: called(name) for law, names in named.items() for name in (law, *names)}
    given = [name for views in VIEWS.values() for view in views.values() for name in view.given]
    followed = [name for name in (*follow, *given) if name in QUANTITIES]
    used = dict.fromkeys([*words, *followed, *(name for law in more for name in (law, *LAWS[law].arguments))])
    data = dict(views={page: {kind: _plain(view) for kind, view in views.items()} for page, views in VIEWS.items()},
                words=words, texts=TEXTS, titles=TITLES, prompts=_PROMPTS, sourced=list(DEFAULTS))
    compiled = "".join(f"{name}: {{ names: {javascript.literal(inner[name])}, said: {text} }},\n"
                       for name, text in formulas.items())
    return (f"{javascript.HEAD}{HELPERS}"
            f"  Object.assign(gpucalc.laws, {javascript.compiled(more)});\n"
            f"  Object.assign(gpucalc.data.quantities, {javascript.quantities(javascript.figures_data(used)['quantities'])});\n"
            f"  gpucalc.lessons = {javascript.literal(data)};\n  gpucalc.lessons.formulas = {{\n{compiled}  }};\n}}\n")


def _plain(view):
    return dict(laws=shown(view), given=view.given, held=view.held, paced=view.paced, worst=view.worst)

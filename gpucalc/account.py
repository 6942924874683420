"""What the fullest GPU holds at each moment of a training step, term by term."""
import re

from . import training_memory as tm
from .explanation import explain
from .law import LAWS
from .quantities import QUANTITIES

_ADDRESS = r"github\.com/[\w/-]+"
_PAPER = r"(?:arXiv [\d.]+\d|[A-Z]\w+ et al\. \d+)(?:, (?:section|table|abstract)(?: [\d.]*\d)?)?"


def fullest(*rows, **job):
    """The explanation of `training_bytes` on the fullest GPU: in a pipeline its first stage or its last."""
    stages = [explain(tm.training_bytes, *rows, last_stage=last, **job) for last in (0, 1)]
    return max(stages, key=lambda account: account.value)


def moments(account):
    """Bytes by moment (the law's name) and term; the terms of a moment sum to its law."""
    arguments = {step.law: step.arguments for step in account.steps}
    return {moment: _terms(arguments["resident_bytes"], arguments[moment]) for moment in tm.peak_bytes.arguments}


def _terms(resident, moment):
    """Gradients that are not held from step to step count only in the moments that name them."""
    terms = resident | moment
    terms["held_gradient_bytes"] *= terms["persistent_gradients"] or "held_gradient_bytes" in moment
    return {name: value for name, value in terms.items() if name != "resident_bytes" and QUANTITIES[name].unit == "byte"}


def peak_terms(account):
    """Bytes by term at the largest moment, with what tensors do not take; they sum to `training_bytes`."""
    around = {name: value for name, value in account.steps[-1].arguments.items() if name != "peak_bytes"}
    return max(moments(account).values(), key=lambda terms: sum(terms.values())) | around


def source(term):
    """The paper and section, or the address, that the docstring of the term's law names first; empty if it names none."""
    text = " ".join(LAWS[term].__doc__.split()) if term in LAWS else ""
    found = re.search(_ADDRESS + "|" + _PAPER, text)
    return found[0] if found else ""

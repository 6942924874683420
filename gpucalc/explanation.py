"""Fill a law's arguments from rows and inputs, and show how a figure came about: equation, numbers, sources."""
import re
from typing import NamedTuple

from .law import LAWS, wide
from .quantities import COUNT0, FLAG, LEVEL2, LEVEL3, QUANTITIES, check
from .show import markdown, number

SWITCHES = (FLAG, LEVEL2, LEVEL3)
_SYMBOLS = {name: quantity.symbol for name, quantity in QUANTITIES.items()}


class Input(NamedTuple):
    """One value a law was given, and where it came from."""

    name: str
    value: object
    source: str
    date: str


class Step(NamedTuple):
    """One law that was applied: its arguments by name and its result."""

    law: str
    arguments: dict
    value: object


def uses(law, *rows, **inputs):
    """Those of `inputs` that the law, or a law it needs, takes from them."""
    used = {}
    _apply(law, [_as_mapping(row) for row in rows], inputs, {}, used)
    return {name: value for name, value in inputs.items() if name in used}


def evaluate(law, *rows, **inputs):
    """Value of `law` with its arguments taken by name from inputs, then rows, then the law of that name, then defaults.

    Rows are catalogue rows, tables or dicts. The values may be of any kind a law takes. Raises ValueError naming an
    argument that nothing gives, or an input that nothing uses.
    """
    return _trace([law], rows, inputs)[0][-1].value


def evaluate_all(laws, *rows, **inputs):
    """Values by name of several laws and of every law they need, from the same rows and inputs; arguments as in `evaluate`."""
    return {step.law: step.value for step in _trace(laws, rows, inputs)[0]}


def explain(law, *rows, **inputs):
    """The figure with its derivation: an `Explanation` that displays as equations, numbers and a table of sources."""
    return Explanation(*_trace([law], rows, inputs))


def equation(law, **known):
    """The law's equation in symbols, with the values in `known` (switches, absent features) already put in.

    A quotient is shown as a fraction; that it is infinite where its denominator is not above 0 is left unsaid.
    """
    return Markdown(_display(law.__name__, _latex(_fractions(_expression(law.__name__, known)), _SYMBOLS)))


def symbol_table(*laws):
    """Symbols, names in code, meanings and units of the laws and their arguments."""
    names = dict.fromkeys(name for law in laws for name in (law.__name__, *law.arguments))
    rows = "\n".join(f"| ${_SYMBOLS[name]}$ | {markdown(QUANTITIES[name].meaning)} "
                     f"| {markdown(QUANTITIES[name].unit or 'count')} | `{name}` |" for name in names)
    return Markdown(f"| symbol | meaning | unit | name in code |\n|---|---|---|---|\n{rows}")


class Markdown:
    """Markdown that a notebook displays."""

    def __init__(self, source):
        self.source = source

    def _repr_markdown_(self):
        return self.source

    def __repr__(self):
        return self.source


class Explanation:
    """A figure, `value`, and how it came about: `steps`, the laws in order; `terms`, their values by name; `inputs`."""

    def __init__(self, steps, inputs):
        self.steps, self.inputs = steps, inputs
        self.value = steps[-1].value
        self.terms = {step.law: step.value for step in steps}

    def _repr_markdown_(self):
        equations = "\n\n".join(_equation(step) for step in reversed(self.steps))
        rows = "\n".join(_input_row(used) for used in self.inputs if not _is_absent(used))
        return (f"{equations}\n\n| symbol | input | value | source | date |\n|---|---|---:|---|---|\n{rows}")

    def __repr__(self):
        last = self.steps[-1]
        return f"{last.law} = {number(last.value, QUANTITIES[last.law].unit)}"


def _trace(laws, rows, inputs):
    steps, used, rows = {}, {}, [_as_mapping(row) for row in rows]
    for law in laws:
        if law.__name__ not in steps:
            _apply(law, rows, inputs, steps, used)
    unused = [name for name in inputs if name not in used]
    if unused:
        asked = ", ".join(law.__name__ for law in laws)
        raise ValueError(f"{asked} does not use {', '.join(unused)}; it takes {', '.join(used)}")
    return list(steps.values()), list(used.values())


def _as_mapping(row):
    """The row's values, its label and its origin; looking up a name in a dict is far faster than in a pandas row."""
    return dict(row), getattr(row, "name", None)


def _apply(law, rows, inputs, steps, used):
    """Apply the law's formula; each value is checked once, where it comes in."""
    arguments = {name: _argument(law, name, rows, inputs, steps, used) for name in law.arguments}
    value = law.formula(**arguments)
    steps[law.__name__] = Step(law.__name__, arguments, value)
    return value


def _argument(law, name, rows, inputs, steps, used):
    if name in used:
        return used[name].value
    if name in steps:
        return steps[name].value
    if name in inputs:
        found = Input(name, inputs[name], "given", "")
    elif found := _in_rows(name, rows):
        pass
    elif name in LAWS and name not in law.defaults:
        return _apply(LAWS[name], rows, inputs, steps, used)
    elif name in law.defaults:
        found = Input(name, law.defaults[name], "default", "")
    else:
        raise ValueError(f"{law.__name__} needs {name} ({QUANTITIES[name].meaning}), which is neither given nor in the rows")
    check(name, found.value, law.__name__)
    used[name] = found._replace(value=wide(found.value))
    return used[name].value


def _in_rows(name, rows):
    for row, label in rows:
        if name in row and not _is_missing(row[name]):
            source = "; ".join(part for part in (label, row.get("source")) if isinstance(part, str) and part)
            return Input(name, row[name], source or "given", str(row.get("date", "")))
    return None


def _is_missing(value):
    return isinstance(value, float) and value != value


def _equation(step):
    """The law's equation and its line of numbers; switches and absent features (0) are put in, so their terms are gone."""
    known = {name: int(value) for name, value in step.arguments.items() if value == 0 or QUANTITIES[name].allowed in SWITCHES}
    numbers = {name: _latex_number(name, value) for name, value in step.arguments.items()}
    general = _expression(step.law, known)
    expression = _case(general, step.arguments)
    value = _latex_number(step.law, step.value)
    if expression.is_infinite:
        lines = [_latex(general, _SYMBOLS), value]
    elif expression.is_number:
        lines = [value]
    else:
        with_numbers = _latex(expression, numbers, mul_symbol="times")
        lines = [_latex(expression, _SYMBOLS), value if with_numbers == value else f"{with_numbers} = {value}"]
    return "\n\n".join(_display(step.law, line) for line in lines)


def _expression(name, known):
    import sympy
    law = LAWS[name]
    symbols = {argument: sympy.Symbol(argument, real=True) for argument in law.arguments if argument not in known}
    return sympy.sympify(law(**symbols, **known))


def _fractions(expression):
    """The expression with each choice between a quotient and infinity replaced by the quotient."""
    import sympy
    return expression.replace(sympy.Piecewise, lambda *cases: cases[0][0] if cases[-1][0] is sympy.oo
                              else sympy.Piecewise(*cases, evaluate=False))


def _case(expression, arguments):
    """The expression with each choice replaced by the case that holds for the arguments."""
    import sympy
    values = {symbol: arguments[symbol.name] for symbol in expression.free_symbols}

    def holding(*cases):
        return next(value for value, condition in cases if bool(condition.subs(values)))
    return expression.replace(sympy.Piecewise, holding)


def _latex(expression, texts, **options):
    import sympy
    names = {symbol: texts[symbol.name] for symbol in expression.free_symbols}
    text = sympy.latex(expression, symbol_names=names, **options)
    return re.sub(r"\b10{6,}\b", lambda power: f"10^{{{len(power[0]) - 1}}}", text)


def _display(name, right_side):
    return f"$$\n{_SYMBOLS[name]} = {right_side}\n$$"


def _latex_number(name, value):
    text = number(value, QUANTITIES[name].unit)
    if text.replace(".", "").replace(",", "").isdigit():
        return text.replace(",", "{,}")
    return "\\text{" + text.replace("%", "\\%") + "}"


def _is_absent(used):
    """A row's zero for a feature the model does not have."""
    return used.value == 0 and used.source not in ("given", "default") and QUANTITIES[used.name].allowed in (COUNT0, FLAG)


def _input_row(used):
    quantity = QUANTITIES[used.name]
    return (f"| ${quantity.symbol}$ | {markdown(quantity.meaning)} | {markdown(number(used.value, quantity.unit))} "
            f"| {markdown(used.source)} | {markdown(used.date)} |")

"""The right-hand side of a law as one expression, from its own syntax tree, in the author's order.

Local names, helpers and other laws are put in, and so are known values. What they decide or make vanish is gone; nothing
else is sorted, expanded or collected.
"""
import ast
import functools
import inspect
import math
import textwrap
from collections import namedtuple
from collections.abc import Container
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import Any

from . import arithmetic
from .evaluate import LEFT_OUT, Input, Step
from .law import LAWS
from .quantities import COUNT0, DEFAULTS, FLAG, LEVEL2, LEVEL3, QUANTITIES

_FUNCTIONS = ("ceil", "floor", "sqrt", "exp", "log", "log2", "minimum", "maximum", "where", "quotient", "flow")
_OPERATIONS = dict(zip((ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow), (add, sub, mul, truediv, pow)))
_Inner = namedtuple("_Inner", "definition scope world")  # a function defined in another, and the names it sees
quantity_node = functools.partial(ast.Name, ctx=ast.Load())
_SWITCHES = (FLAG, LEVEL2, LEVEL3)


def tree(law, **known):
    """The law's right-hand side as one expression over its arguments, with the values in `known` put in.

    Where it calls another law with exactly that law's arguments, the other law stands as its name.
    """
    if unknown := set(known) - set(law.arguments):
        raise ValueError(f"{law.__name__} does not take {', '.join(unknown)}; it takes {', '.join(law.arguments)}")
    scope = {name: _number(arithmetic.wide(known[name])) if name in known else quantity_node(name) for name in law.arguments}
    return _result(_definition(law.formula), scope, law.formula.__globals__)


def names(tree):
    """Quantities in the expression, each once, in the order in which they are read."""
    return list(dict.fromkeys(_quantities(tree)))


def _quantities(tree):
    left = [tree]
    while left:
        part = left.pop()
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Call):
            left += reversed(part.args)
        elif not isinstance(part, ast.Constant):
            left += reversed(list(ast.iter_child_nodes(part)))


def evaluate(tree, values):
    """The expression's value for values by name."""
    code = compile(ast.fix_missing_locations(ast.Expression(tree)), "<equation>", "eval")
    return eval(code, vars(arithmetic) | {"__builtins__": {}}, values)


def case(tree, values):
    """The expression with each choice replaced by what holds for the values; a quotient may be infinite."""
    match tree:
        case ast.Call(ast.Name("where"), [condition, a, b]):
            return case(a if evaluate(condition, values) else b, values)
        case ast.Call(ast.Name("flow"), [ratio, years]) if evaluate(ratio, values) == 1:
            return case(years, values)
        case ast.Call(ast.Name("quotient"), [_, b]) if evaluate(b, values) <= 0:
            return ast.Constant(math.inf)
        case ast.Call(ast.Name("minimum") as smallest, given):
            parts = [case(part, values) for part in given]
            finite = [part for part in parts if not (isinstance(part, ast.Constant) and part.value == math.inf)] or parts[:1]
            return finite[0] if len(finite) == 1 else ast.Call(smallest, finite, [])
    return rebuilt(tree, lambda part: case(part, values))


# From source to tree

@functools.cache
def _definition(function):
    return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]


def _result(definition, scope, world):
    """What a function returns, with the names in `scope` and those it assigns put in."""
    for line in definition.body:
        match line:
            case ast.Assign([ast.Name(name)], value):
                scope[name] = _unfold(value, scope, world)
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(parts)) if len(targets) == len(parts):
                scope |= dict(zip([target.id for target in targets], [_unfold(part, scope, world) for part in parts]))
            case ast.FunctionDef(name):
                scope[name] = _Inner(line, scope, world)
            case ast.Return(value):
                return _unfold(value, scope, world)
            case ast.Expr(ast.Constant()):
                pass
            case _:
                break
    raise ValueError(f"{definition.name}: no equation from `{ast.unparse(line)}`")


def _unfold(node, scope, world):
    """The expression with every name replaced by what it stands for, and every call by what it returns."""
    match node:
        case ast.Name() | ast.Attribute():
            found = _meaning(node, scope, world)
            return found if isinstance(found, ast.expr) else _number(found)
        case ast.Call(function, given, named):
            given = [_unfold(part, scope, world) for part in given]
            named = {part.arg: _unfold(part.value, scope, world) for part in named}
            return _called(_meaning(function, scope, world), given, named)
    return rebuilt(node, lambda part: _unfold(part, scope, world))


def _meaning(node, scope, world):
    if isinstance(node, ast.Attribute):
        return getattr(_meaning(node.value, scope, world), node.attr)
    return scope[node.id] if node.id in scope else world[node.id]


def _called(function, given, named):
    """What a call gives: the result of a function or another law, or plain arithmetic as it is."""
    if isinstance(function, _Inner):
        return _result(function.definition, function.scope | _bound(*function, given, named), function.world)
    name, function = function.__name__, getattr(function, "formula", function)
    if name in _FUNCTIONS and function is vars(arithmetic)[name]:
        return _applied(name, given)
    bound = _bound(_definition(function), {}, function.__globals__, given, named)
    is_law = name in LAWS and LAWS[name].formula is function
    if is_law and all(isinstance(part, ast.Name) and part.id == argument for argument, part in bound.items()):
        return quantity_node(name)
    return _result(_definition(function), bound, function.__globals__)


def _bound(definition, scope, world, given, named):
    """The function's arguments by name, its defaults filled in."""
    arguments, defaults = [argument.arg for argument in definition.args.args], definition.args.defaults
    absent = {name: _number(DEFAULTS[name].value) if isinstance(default, ast.Constant) and default.value is ...
              else _unfold(default, scope, world) for name, default in zip(reversed(arguments), reversed(defaults))}
    return absent | dict(zip(arguments, given)) | named


def rebuilt(node, change):
    """The expression out of its changed parts, with what became plain numbers worked out."""
    match node:
        case ast.Name() | ast.Constant():
            return node
        case ast.BinOp(left, ast.BitAnd() | ast.BitOr() as join, right):
            return _decided(ast.BinOp(change(left), join, change(right)))
        case ast.BinOp(left, operation, right) if type(operation) in _OPERATIONS:
            return operated(operation, change(left), change(right))
        case ast.UnaryOp(ast.USub(), operand):
            return negative(change(operand))
        case ast.Compare(left, relations, others):
            return _decided(ast.Compare(change(left), relations, [change(other) for other in others]))
        case ast.Call(ast.Name(function), given):
            return _applied(function, [change(part) for part in given])
    raise ValueError(f"no equation from `{ast.unparse(node)}`")


# Plain numbers: whole ones and fractions are exact, others are worked out where at most six digits come out

def _number(value):
    if value < 0:
        return ast.UnaryOp(ast.USub(), _number(-value))
    if isinstance(value, Fraction) and value.denominator > 1:
        return ast.BinOp(ast.Constant(value.numerator), ast.Div(), ast.Constant(value.denominator))
    return ast.Constant(int(value) if math.isfinite(value) and value % 1 == 0 else value)


def plain(node):
    """The number that an expression is, or None."""
    match node:
        case ast.Constant(value):
            return Fraction(value) if isinstance(value, int) else value
        case ast.UnaryOp(ast.USub(), operand) if plain(operand) is not None:
            return -plain(operand)
        case ast.BinOp(ast.Constant(int(a)), ast.Div(), ast.Constant(int(b))):
            return Fraction(a, b)


def _short(value):
    """The number if it is exact or six digits say it, else None."""
    if isinstance(value, Fraction) or math.isclose(value, float(f"{value:.6g}"), rel_tol=1e-12):
        return _number(value if isinstance(value, Fraction) else float(f"{value:.6g}"))


def operated(operation, a, b):
    x, y = plain(a), plain(b)
    match type(operation), x, y:
        case (ast.Add, 0, _) | (ast.Mult, 1, _):
            return b
        case (ast.Add | ast.Sub, _, 0) | (ast.Mult | ast.Div | ast.Pow, _, 1) | (ast.Mult | ast.Div, 0, _):
            return a
        case (ast.Sub, 0, _):
            return negative(b)
        case (ast.Sub, _, _) if any(_quantities(a)) and ast.dump(a) == ast.dump(b):
            return ast.Constant(0)
        case (ast.Mult, _, 0):
            return b
        case (ast.Pow, 1, _) | (ast.Pow, _, 0):
            return ast.Constant(1)
    can = x is not None and y is not None and not (isinstance(operation, ast.Div) and y == 0)
    return can and _short(_OPERATIONS[type(operation)](x, y)) or ast.BinOp(a, operation, b)


def negative(node):
    if isinstance(node, ast.UnaryOp):
        return node.operand
    return node if plain(node) == 0 else ast.UnaryOp(ast.USub(), node)


def _decided(condition):
    return condition if any(_quantities(condition)) else ast.Constant(bool(evaluate(condition, {})))


def _applied(function, given):
    """A call of plain arithmetic, or what it gives where that is decided."""
    match function, given, [plain(part) for part in given]:
        case "where", [ast.Constant(condition), a, b], _:
            return a if condition else b
        case "where", [_, a, b], _ if ast.dump(a) == ast.dump(b):
            return a
        case "quotient", [a, b], [_, y] if y is not None and y > 0:
            return operated(ast.Div(), a, b)
        case "flow", [_, years], [1, _]:
            return years
    call = ast.Call(quantity_node(function), given, [])
    return not any(_quantities(call)) and _short(evaluate(call, {})) or call


def written(step: Step, left_out: Container[str]) -> tuple[ast.expr, ast.expr, dict[str, Any]]:
    """The step's expression in general, the branch of it that holds, and the values of the names in both.

    Switches and what is absent or left out are put in, so their terms are gone.
    """
    known = {name: int(value) for name, value in step.arguments.items()
             if value == 0 or name in left_out or QUANTITIES[name].allowed in _SWITCHES}
    general = tree(LAWS[step.law], **known)
    values = step.arguments | {name: LAWS[name].formula(**{part: step.arguments[part] for part in LAWS[name].arguments})
                               for name in names(general) if name not in step.arguments}
    return general, case(general, values), values


def is_absent(used: Input) -> bool:
    """A row's zero for a feature the model does not have."""
    return used.value == 0 and used.source not in ("given", LEFT_OUT) and QUANTITIES[used.name].allowed in (COUNT0, FLAG)

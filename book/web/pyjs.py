"""Functions of Python as JavaScript, so that a text is written once for both languages.

`functions` prints functions and classes of a module from their syntax trees. They may hold what texts are made and read with:
conditions, loops, f-strings, comprehensions, patterns, methods of texts and lists, named tuples, sorts by a key. All else is
refused with its line. What JavaScript lacks is `py`, of book/web/python.js. A tuple and a set are lists there, a set one without
repetitions, so that no two of them are compared; an object of a class has its attributes, one of a named tuple that is not
printed its fields.
"""
import ast
import inspect
import json
import re
import types
from collections.abc import Callable, Mapping
from typing import Any

_RESERVED = frozenset("arguments await case catch class const default delete do enum eval export extends false function "
                      "implements instanceof interface let new null package private protected public py static super switch "
                      "this throw true typeof var void".split())
_OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_COMPARISONS: dict[type, str] = {ast.Eq: "===", ast.NotEq: "!==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
# Calls by their names: of functions, and of methods, whose object stands first.
_CALLS = {"abs": "Math.abs", "max": "Math.max", "min": "Math.min", "float": "Number", "math.floor": "Math.floor",
          "math.isfinite": "Number.isFinite", **{name: f"py.{name.split('.')[-1]}" for name in (
              "math.isinf", "math.log10", "math.prod", "int", "round", "len", "list", "sum", "str", "next", "shlex.quote", "set",
              "range", "statistics.median")},
          "bool": "py.truth", "iter": "py.list", "dict.fromkeys": "py.set"}
_METHODS = {name: f"py.{name}" for name in ("get", "join", "removesuffix", "removeprefix", "rstrip", "partition", "sub", "search",
                                            "fullmatch", "findall", "start", "end", "isdigit")} | {
    "items": "Object.entries", "keys": "Object.keys", "values": "Object.values"}
_OWN_METHODS = {"replace": "replaceAll", "startswith": "startsWith", "endswith": "endsWith", "split": "split", "strip": "trim",
                "lower": "toLowerCase", "upper": "toUpperCase", "append": "push"}
# Patterns mean the same in both but for these: groups with names, flags and comments inside, ends of texts, greed that keeps all.
_PATTERNS, _FLAGS = ("search", "fullmatch", "findall", "sub"), {re.ASCII: "", re.IGNORECASE: "i"}
_NO_PATTERN = re.compile(r"\(\?[^:=!<]|\(\?<[^=!]|\\[AZ]|[*+?}]\+")
_TYPES = ("bool", "int", "float", "str", "list", "dict")
# Kinds of values by what they are in JavaScript, where true and false are no numbers.
_KINDS = {"str": 'typeof {} === "string"', "int | float": 'typeof {} === "number"', "list": "Array.isArray({})",
          "dict": 'py.type({}) === "dict"', "(list, str)": '["list", "str"].includes(py.type({}))'}


class Refused(ValueError):
    """What can't be printed, with the line in which it stands."""


def functions(made: list[Callable], known: Mapping[str, str]) -> str:
    """JavaScript that declares these functions and classes of one module, constants that they name, and nothing else.

    known: what stands in JavaScript for other names, {"UNITS": "gpucalc.data.units"}.

    Raises Refused naming the function and the line.
    """
    module = inspect.getmodule(made[0])
    names = {function.__name__ for function in made}
    printers = [printer for each in made for printer in _printers(each, names, known, vars(module))]
    texts = list(filter(None, [printer.printed() for printer in printers]))
    constants = {name: value for printer in printers for name, value in printer.constants.items()}
    return "\n".join([*(f"const {name} = {_constant(name, value)};" for name, value in constants.items()), *texts])


def _printers(made, names, known, world):
    """Of a function one, of a class itself and its methods."""
    whole = _Printer(made, names, known, world)
    if isinstance(whole.tree, ast.ClassDef):
        methods = [each for each in whole.tree.body if isinstance(each, ast.FunctionDef)]
        whole.methods = [_Printer(made, names, known, world, each) for each in methods]
    return [whole, *whole.methods]


def _constant(name, value):
    if isinstance(value, re.Pattern):
        return _regex(value.pattern, value.flags & ~re.UNICODE, name)
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        allowed = "numbers, texts, patterns, and lists and mappings of them"
        raise Refused(f"{name}: {type(value).__name__}; allowed: {allowed}") from None


def _regex(pattern, flags, where):
    if _NO_PATTERN.search(pattern) or flags and flags not in _FLAGS:
        raise Refused(f"{where}: the pattern {pattern}; allowed: what JavaScript reads alike, with ASCII or IGNORECASE")
    return f"/{pattern.replace('/', chr(92) + '/')}/{_FLAGS[flags] if flags else ''}"


def _bare(text):
    """An expression without the parentheses around all of it."""
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth and place < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") and not text.startswith("({") else text


def _spelled(name):
    """A name as JavaScript may have it: one that it keeps for itself gets a dash."""
    return f"{name}_" if name in _RESERVED else name


def _read(target):
    """The expression of what is assigned to."""
    return ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, target)


class _Printer:
    """One function, class or method on its way to JavaScript."""

    def __init__(self, made, names, known, world, method=None):
        self.lines, self.first = inspect.getsourcelines(made)
        self.tree = method or ast.parse(inspect.cleandoc("\n" + "".join(self.lines))).body[0]
        self.name, self.names, self.known, self.world = made.__name__ + (f".{method.name}" if method else ""), names, known, world
        self.method, self.methods = bool(method), []
        self.constants: dict[str, Any] = {}
        self.own = {node.arg for node in ast.walk(self.tree) if isinstance(node, ast.arg)} | {
            node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        if self.name in _RESERVED:
            self.refuse(self.tree, "a name that JavaScript does not keep for itself")

    def refuse(self, node, allowed):
        line = self.lines[node.lineno - 1].strip()
        raise Refused(f"{self.name}, line {self.first + node.lineno - 1}: `{line}`; allowed: {allowed}")

    def printed(self):
        if isinstance(self.tree, ast.ClassDef):
            return self.a_class()
        return "" if self.method else self.function()

    def a_class(self):
        """A class with the attributes that a NamedTuple declares, or its own __init__ sets; and its methods."""
        fields = [(node.target.id, node.value) for node in self.tree.body if isinstance(node, ast.AnnAssign)]
        taken = [_spelled(name) + (f" = {self.value(default)}" if default else "") for name, default in fields]
        kept = [f"this.{name} = {_spelled(name)};" for name, _ in fields]
        made = [f"constructor({', '.join(taken)}) {{", *kept, "}"] if fields else []
        if [ast.unparse(base) for base in self.tree.bases] != ["NamedTuple"] * bool(fields):
            self.refuse(self.tree, "a class of its own, or a NamedTuple")
        for method in self.methods:
            if method.tree.name in {**_METHODS, **_OWN_METHODS}:
                method.refuse(method.tree, "a name that no method of a text, list or mapping has")
        return "\n".join([f"class {self.name} {{", *made, *(method.function() for method in self.methods), "}"])

    def function(self):
        name, decorators = self.tree.name.replace("__init__", "constructor"), list(map(ast.unparse, self.tree.decorator_list))
        if not set(decorators) <= {"functools.cache", "kept"}:
            self.refuse(self.tree.decorator_list[0], "functools.cache")
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            self.refuse(self.tree, "arguments by place")
        given = [_spelled(argument.arg) for argument in arguments.args]
        defaults = [f" = {self.value(default)}" for default in arguments.defaults]
        taken = [name + default for name, default in zip(given, [""] * (len(given) - len(defaults)) + defaults)]
        bound = sorted(self.assigned() - set(given))
        declared = [f"let {', '.join(bound)};"] if bound else []
        begin = f"{'' if self.method else 'function '}{name}({', '.join(taken[self.method:])}) {{"
        again = [f"{name} = py.cache({name});"] if "functools.cache" in decorators else []
        return "\n".join([begin, *declared, *self.block(self.tree.body), "}", *again])

    def assigned(self):
        targets = [target for node in ast.walk(self.tree) if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For))
                   for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]
        return {_spelled(part.id) for target in targets for part in ast.walk(target)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}

    # Statements, as lines

    def statement(self, node):
        match node:
            case ast.Expr(ast.Constant(str())) | ast.AnnAssign(_, _, None):
                return []
            case ast.Expr(value):
                return [f"{self.value(value)};"]
            case ast.Return(value):
                return [f"return {_bare(self.value(value)) if value else 'null'};"]
            case ast.Assign([target], value) | ast.AnnAssign(target, _, value):
                return [f"{self.target(target)} = {self.value(value)};"]
            case ast.AugAssign(target, ast.Add() | ast.BitOr() as operation, value):
                return [f"{self.target(target)} = {self.value(ast.BinOp(_read(target), operation, value))};"]
            case ast.If(test, body, orelse):
                otherwise = ["} else {", *self.block(orelse)] if orelse else []
                return [f"if ({_bare(self.truth(test))}) {{", *self.block(body), *otherwise, "}"]
            case ast.For(target, values, body, []):
                return [f"for ({self.target(target)} of {self.several(values)}) {{", *self.block(body), "}"]
            case ast.Raise(ast.Call() as error):
                return [f"throw {self.value(error)};"]
            case ast.Continue():
                return ["continue;"]
        self.refuse(node, "conditions, loops over values, assignments to names, `+=`, continue, return and raise")

    def block(self, body):
        return [line for statement in body for line in self.statement(statement)]

    def target(self, node):
        match node:
            case ast.Name(name):
                return _spelled(name)
            case ast.Tuple(parts) | ast.List(parts):
                return f"[{', '.join(map(self.target, parts))}]"
            case ast.Starred(part):
                return f"...{self.target(part)}"
            case ast.Subscript(value, ast.Slice()):
                self.refuse(node, "one place")
            case ast.Subscript(value, index):
                return f"{self.value(value)}[{self.value(index)}]"
            case ast.Attribute(ast.Name("self"), name) if self.method:
                return f"this.{name}"
        self.refuse(node, "names and places")

    # Expressions

    def truth(self, node):
        """What is true in JavaScript where it is in Python: an empty list or mapping is not."""
        match node:
            case ast.Compare() | ast.Constant(bool()):
                return self.value(node)
            case ast.UnaryOp(ast.Not(), value):
                return f"!{self.truth(value)}" if not isinstance(value, ast.Compare) else f"!({self.value(value)})"
            case ast.Call(ast.Attribute(_, "startswith" | "endswith" | "isinf" | "isfinite")) | ast.Call(
                    ast.Name("isinstance" | "any" | "all")):
                return self.value(node)
            case ast.BoolOp(kind, values):
                return f"({(' && ' if isinstance(kind, ast.And) else ' || ').join(map(self.truth, values))})"
        return f"py.truth({self.value(node)})"

    def value(self, node):
        match node:
            case ast.Constant(None):
                return "null"
            case ast.Constant(value) if value is not ...:
                return json.dumps(value, ensure_ascii=False)
            case ast.Name(name):
                return self.named(node, name)
            case ast.Attribute(ast.Name("math"), "inf"):
                return "Infinity"
            case ast.Attribute(ast.Name(name), part) if self.is_module(name):
                return self.known.get(f"{name}.{part}") or f"{self.named(node, name)}.{part}"
            case ast.Attribute(value, name) if not name.startswith("_") or self.is_self(value):
                return f"{self.value(value)}.{name}"
            case ast.BinOp(left, _, right) if any(isinstance(side, (ast.Set, ast.SetComp)) for side in (left, right)):
                self.refuse(node, "`in`, loops and comprehensions of sets")
            case ast.BinOp(left, ast.Mod(), right) if not isinstance(left, (ast.Constant, ast.JoinedStr)):
                return f"py.mod({self.value(left)}, {self.value(right)})"
            case ast.BinOp(left, ast.FloorDiv(), right):
                return f"Math.floor({self.value(left)} / {self.value(right)})"
            case ast.Dict() | ast.BinOp(_, ast.BitOr(), _):
                return f"({{ {', '.join(self.pairs(node))} }})"
            case ast.BinOp(left, operation, right) if type(operation) in _OPERATORS:
                return f"({self.value(left)} {_OPERATORS[type(operation)]} {self.value(right)})"
            case ast.UnaryOp(ast.USub(), value):
                return f"-{self.value(value)}"
            case ast.UnaryOp(ast.Not(), _):
                return self.truth(node)
            case ast.BoolOp(kind, values):
                either = "and" if isinstance(kind, ast.And) else "or"
                return f"py.{either}({', '.join([self.value(values[0]), *(f'() => {self.value(each)}' for each in values[1:])])})"
            case ast.Compare(left, relations, others):
                pairs = zip([left, *others], relations, others)
                return f"({' && '.join(self.compared(node, *pair) for pair in pairs)})"
            case ast.IfExp(test, a, b):
                return f"({self.truth(test)} ? {self.value(a)} : {self.value(b)})"
            case ast.Tuple(parts) | ast.List(parts):
                return f"[{', '.join(map(self.value, parts))}]"
            case ast.Starred(part):
                return f"...{self.several(part)}"
            case ast.Subscript(value, ast.Slice(first, last, None)):
                ends = [self.value(end) if end else given for end, given in ((first, "0"), (last, ""))]
                return f"{self.value(value)}.slice({', '.join(filter(None, ends))})"
            case ast.Subscript(value, ast.UnaryOp(ast.USub(), ast.Constant(int(place)))):
                return f"{self.value(value)}.at(-{place})"
            case ast.Subscript(value, ast.Constant(place)):
                return f"{self.value(value)}[{json.dumps(place)}]"
            case ast.Subscript(value, index):
                return f"py.at({self.value(value)}, {self.value(index)})"
            case ast.JoinedStr([ast.Constant(text)]):
                return json.dumps(text, ensure_ascii=False)
            case ast.JoinedStr(parts):
                return f"`{''.join(map(self.part, parts))}`"
            case ast.Lambda(arguments, body):
                return f"(({', '.join(_spelled(each.arg) for each in arguments.args)}) => {self.value(body)})"
            case ast.ListComp(element, loops) | ast.GeneratorExp(element, loops):
                return self.comprehension(element, loops)
            case ast.Set(parts):
                return f"py.set([{', '.join(map(self.value, parts))}])"
            case ast.SetComp(element, loops):
                return f"py.set({self.comprehension(element, loops)})"
            case ast.DictComp(name, value, loops):
                return f"Object.fromEntries({self.comprehension(ast.Tuple([name, value]), loops)})"
            case ast.Call():
                return self.called(node)
        self.refuse(node, "numbers, texts, names, arithmetic, comparisons, f-strings, comprehensions and calls")

    def pairs(self, node):
        """What a mapping holds, or the two that are laid over one another."""
        match node:
            case ast.Dict(names, values):
                return [f"...{self.value(value)}" if name is None else f"{self.key(name)}: {self.value(value)}"
                        for name, value in zip(names, values)]
            case ast.BinOp(left, ast.BitOr(), right):
                return [*self.pairs(left), *self.pairs(right)]
        return [f"...{self.value(node)}"]

    def key(self, node):
        return self.value(node) if isinstance(node, ast.Constant) else f"[{self.value(node)}]"

    def several(self, node):
        """What is looped over, as a list."""
        text = self.value(node)
        match node:
            case ast.Tuple() | ast.List() | ast.ListComp() | ast.Call(ast.Name("sorted" | "enumerate")):
                return text
            case ast.Call(ast.Attribute(_, "split" | "items" | "keys" | "values")):
                return text
            case ast.Name(name) if isinstance(self.constants.get(name), (list, tuple)):
                return text
        return f"py.list({text})"

    def is_text(self, node):
        """Whether a value is known to be a text: of a function that says so."""
        match node:
            case ast.JoinedStr() | ast.Constant(str()):
                return True
            case ast.IfExp(_, a, b):
                return self.is_text(a) and self.is_text(b)
            case ast.Call(ast.Name(name), _) if name in self.names:
                return self.world[name].__annotations__.get("return") in (str, "str")
            case ast.Call(ast.Attribute(_, "removesuffix" | "removeprefix" | "replace" | "strip" | "rstrip" | "join")):
                return True
        return False

    def said_by_classes(self):
        """Methods of the classes that are printed too: none has the name of a method of a text, list or mapping."""
        return {name for each in self.names if isinstance(self.world[each], type) for name, held in vars(self.world[each]).items()
                if isinstance(held, types.FunctionType) and not name.startswith("_")}

    def is_self(self, node):
        return self.method and isinstance(node, ast.Name) and node.id == "self"

    def is_module(self, name):
        return name not in self.own and isinstance(self.world.get(name), types.ModuleType)

    def named(self, node, name):
        if self.is_self(node):
            return "this"
        if name in self.own or name in self.names:
            return _spelled(name)
        if name in self.known:
            return self.known[name]
        if name not in self.world or callable(self.world[name]):
            self.refuse(node, f"names that are printed too, or known: {', '.join(self.known)}")
        self.constants[name] = self.world[name]
        return name

    def compared(self, node, left, relation, right):
        match left, relation, right:
            case ast.Call(ast.Name("type"), [value]), ast.Is() | ast.IsNot(), ast.Name(name) if name in _TYPES:
                return f"py.type({self.value(value)}) {'===' if isinstance(relation, ast.Is) else '!=='} {json.dumps(name)}"
            case ast.Call(ast.Name("type"), [one]), ast.Is(), ast.Call(ast.Name("type"), [other]):
                return f"py.type({self.value(one)}) === py.type({self.value(other)})"
        match relation:
            case ast.In():
                return f"py.has({self.value(right)}, {self.value(left)})"
            case ast.NotIn():
                return f"!py.has({self.value(right)}, {self.value(left)})"
            case ast.Is() if isinstance(right, ast.Constant) and right.value is None:
                return f"{self.value(left)} == null"
            case ast.IsNot() if isinstance(right, ast.Constant) and right.value is None:
                return f"{self.value(left)} != null"
            case ast.Is() | ast.IsNot():
                return f"{self.value(left)} {'===' if isinstance(relation, ast.Is) else '!=='} {self.value(right)}"
        if type(relation) not in _COMPARISONS or any(
                isinstance(side, (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.SetComp)) for side in (left, right)):
            self.refuse(node, "comparisons of numbers and texts")
        return f"{self.value(left)} {_COMPARISONS[type(relation)]} {self.value(right)}"

    def part(self, node):
        """A part of a template literal."""
        match node:
            case ast.Constant(str(text)):
                return json.dumps(text, ensure_ascii=False)[1:-1].replace(r"\"", '"').replace("`", r"\`").replace("${", r"\${")
            case ast.FormattedValue(value, -1, None):
                text = self.is_text(value)
                return f"${{{self.value(value)}}}" if text else f"${{py.str({self.value(value)})}}"
            case ast.FormattedValue(value, 114, None):
                return f"${{py.repr({self.value(value)})}}"
            case ast.FormattedValue(value, -1, form):
                return f"${{py.format({self.value(value)}, {self.value(form)})}}"
        self.refuse(node, "a value, with a form or with !r")

    def comprehension(self, element, loops):
        (first, *more) = loops
        target, kept = self.target(first.target), self.several(first.iter)
        for test in first.ifs:
            kept += f".filter(({target}) => {self.truth(test)})"
        if more:
            return f"{kept}.flatMap(({target}) => {self.comprehension(element, more)})"
        text = self.value(element)
        return kept if text == target else f"{kept}.map(({target}) => {f'({text})' if text.startswith('{') else text})"

    def named_tuple(self, node, made):
        """An object of a named tuple, of its class where that is printed too; what is not given is its default."""
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            self.refuse(node, "fields one by one")
        given = dict(zip(made._fields, map(self.value, node.args))) | {each.arg: self.value(each.value) for each in node.keywords}
        given = {name: _constant(name, value) for name, value in made._field_defaults.items()} | given
        if made.__name__ in self.names:
            return f"new {made.__name__}({', '.join(given[name] for name in made._fields)})"
        return f"({{ {', '.join(f'{name}: {given[name]}' for name in made._fields)} }})"

    def pattern(self, node, flags):
        """A pattern that is given where it is used; one that is made up there, or known, as the text or name that it is."""
        held = [vars(re)[each.attr] for each in flags if isinstance(each, ast.Attribute) and ast.unparse(each).startswith("re.")]
        if isinstance(node, ast.Constant) and len(held) == len(flags):
            return _regex(node.value, held[0] if held else 0, self.name)
        if flags and held != [re.ASCII]:
            self.refuse(node, "a pattern without flags but ASCII")
        return self.value(node)

    def called(self, node):
        match node:
            case ast.Call(ast.Name(name)) if hasattr(self.world.get(name), "_fields") and name not in self.own:
                return self.named_tuple(node, self.world[name])
        named = {each.arg: each.value for each in node.keywords}
        match node:
            case ast.Call(ast.Name("max" | "min" | "sorted" as name), [values]) if named.keys() <= {"key"}:
                return f"py.{name}({', '.join(map(self.value, [values, *named.values()]))})"
            case ast.Call(ast.Attribute(ast.Name("re"), "sub"), [pattern, by, text]) if named.keys() <= {"count"}:
                given = [self.pattern(pattern, []), *map(self.value, [by, text, *named.values()])]
                return f"py.sub({', '.join(given)})"
            case ast.Call(ast.Attribute(ast.Name("re"), name), [pattern, text, *flags]) if name in _PATTERNS and not named:
                return f"py.{name}({self.pattern(pattern, flags)}, {self.value(text)})"
        if named:
            self.refuse(node, "arguments by place, the key of sorted, max and min, the count of re.sub")
        match node:
            case ast.Call(ast.Attribute(value, "split"), []):
                return f"py.words({self.value(value)})"
            case ast.Call(ast.Attribute(value, "strip"), [letters]):
                return f"py.strip({self.value(value)}, {self.value(letters)})"
            case ast.Call(ast.Attribute(value, "replace"), [old, new, ast.Constant(1)]):
                return f"{self.value(value)}.replace({self.value(old)}, () => {self.value(new)})"
            case ast.Call(ast.Name("ValueError"), [message]):
                return f"new py.Fault({self.value(message)})"
            case ast.Call(ast.Name(name)) if name in self.names and isinstance(self.world[name], type):
                return f"new {name}({', '.join(map(self.value, node.args))})"
            case ast.Call(ast.Name("any" | "all" as kind), [ast.GeneratorExp(element, [loop])]):
                kept = self.comprehension(loop.target, [loop])
                return f"{kept}.{'some' if kind == 'any' else 'every'}(({self.target(loop.target)}) => {self.truth(element)})"
            case ast.Call(ast.Name("isinstance"), [value, kind]) if ast.unparse(kind) in _KINDS:
                return f"({_KINDS[ast.unparse(kind)].format(self.value(value))})"
            case ast.Call(ast.Name("getattr"), [value, name, ast.Constant(None)]):
                return f"({self.value(value)}[{self.value(name)}] ?? null)"
            case ast.Call(ast.Name("enumerate"), [values]):
                return f"{self.several(values)}.map((each, place) => [place, each])"
            case ast.Call(ast.Name("getattr"), [value, name]):
                return f"{self.value(value)}[{self.value(name)}]"
        given = ", ".join(map(self.value, node.args))
        if ast.unparse(node.func) in _CALLS and ast.unparse(node.func) not in self.own:
            return f"{_CALLS[ast.unparse(node.func)]}({given})"
        match node.func:
            case ast.Attribute(value, name) if not (isinstance(value, ast.Name) and self.is_module(value.id)):
                if self.is_self(value) or name in self.said_by_classes():
                    return f"{self.value(value)}.{name}({given})"
                if name in _METHODS:
                    return f"{_METHODS[name]}({', '.join(filter(None, [self.value(value), given]))})"
                if name in _OWN_METHODS:
                    return f"{self.value(value)}.{_OWN_METHODS[name]}({given})"
                self.refuse(node, f"methods {', '.join([*_METHODS, *_OWN_METHODS])}")
        return f"{self.value(node.func)}({given})"

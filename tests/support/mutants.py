"""Copies of a module, each with one token changed: a bound, a sign, a comparison, a default."""

import ast
import copy
import sys
import types

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
NAMES = {"max": "min", "min": "max", "any": "all", "all": "any"}


def mutants(source):
    """Yield the line, what was changed, and the tree of each copy."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    annotations = {id(inner) for node in nodes for inner in _annotated(node)}
    annotations |= {id(inner) for node in nodes if isinstance(node, ast.Assert) for inner in ast.walk(node)}
    for number, node in enumerate(nodes):
        if id(node) in annotations:
            continue
        for change in _changes(node):
            changed = copy.deepcopy(tree)
            target = list(ast.walk(changed))[number]
            said = change(target)
            yield getattr(node, "lineno", 0), said, ast.fix_missing_locations(changed)


def _annotated(node):
    """Yield the parts of a node that are types or decorators."""
    parts = [getattr(node, name, None) for name in ("annotation", "returns")]
    for inner in (*parts, *getattr(node, "decorator_list", ())):
        if isinstance(inner, ast.AST):
            yield from ast.walk(inner)


def _changes(node):
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARISONS.get(type(operator), ()):
                yield lambda t, place=place, other=other: _set(t.ops, place, other(), other.__name__)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield lambda t: _put(t, "op", OPERATORS[type(t.op)]())
    elif isinstance(node, ast.BoolOp):
        yield lambda t: _put(t, "op", ast.And() if isinstance(t.op, ast.Or) else ast.Or())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield lambda t: _put(t, "operand", ast.Constant(False))
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield lambda t: _put(t, "id", NAMES[t.id])
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield lambda t: _put(t, "value", not t.value)
        elif isinstance(node.value, int):
            yield lambda t: _put(t, "value", t.value + 1)
            yield lambda t: _put(t, "value", t.value - 1)
        elif isinstance(node.value, float):
            yield lambda t: _put(t, "value", t.value * 1.001 if t.value else 0.001)
            yield lambda t: _put(t, "value", t.value * 0.999 if t.value else -0.001)
        elif node.value is None:
            yield lambda t: _put(t, "value", 0.0)


def _put(node, name, value):
    old = getattr(node, name)
    setattr(node, name, value)
    return f"{_said(old)} -> {_said(value)}"


def _set(values, place, value, said):
    old, values[place] = values[place], value
    return f"{type(old).__name__} -> {said}"


def _said(value):
    return ast.dump(value) if isinstance(value, ast.AST) else repr(value)


def loaded(tree, name="a_mutant"):
    """Run a copy as a module."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(tree, name, "exec"), module.__dict__)
    return module

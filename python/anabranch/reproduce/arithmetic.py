"""Arithmetic in texts: numbers, references to numbers, and a few functions; nothing else is ever computed."""

from __future__ import annotations

import ast
import math
import operator
import re
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OPERATORS: Mapping[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}
NUMBERS = ("claim", "paper", "record", "scenario")
"""Kinds of references to numbers."""
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
EXPRESSION = 1_000
"""Most characters of an expression."""
FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "exp": math.exp,
    "ceil": lambda value: math.ceil(value) if math.isfinite(value) else value,
    "min": min,
    "max": max,
    "abs": abs,
}


def computed(text: str, value: Callable[[str, str], Any]) -> float:
    """Compute arithmetic with references; nothing but what is written here is ever computed.

    Lists of the same length are computed number by number.

    Parameters
    ----------
    text
        The expression.
    value
        From kind and target of a reference to a number, or a list of numbers.

    Raises
    ------
    AnabranchError
        If it is no arithmetic.

    Examples
    --------
    >>> computed('1 + max(claim("a"), 2)', lambda kind, target: 3.0)
    4.0
    >>> computed('max(record("1/a:A") / record("1/a:B"))', lambda kind, target: [1, 3] if target[-1] == "A" else [2, 2])
    1.5
    """

    def of(node: ast.expr) -> Any:  # noqa: ANN401 - a number or a list
        match node:
            case ast.Constant(number) if type(number) in {int, float}:
                return number
            case ast.BinOp(left, sign, right) if type(sign) in OPERATORS:
                pair = (of(left), of(right))
                if all(isinstance(one, list) for one in pair):
                    return [OPERATORS[type(sign)](float(a), float(b)) for a, b in zip(*pair, strict=True)]
                return OPERATORS[type(sign)](*map(float, pair))
            case ast.UnaryOp(sign, operand) if type(sign) in OPERATORS:
                return OPERATORS[type(sign)](float(of(operand)))
            case ast.Call(ast.Name(kind), [ast.Constant(str(target))], []) if kind in {*NUMBERS, "once"}:
                if kind == "once" and not NUMBER.fullmatch(target):
                    raise AnabranchError(f"once: expected a number without a unit, not {target!r}")
                return value(kind, target)
            case ast.Call(ast.Name(name), arguments, []) if name in FUNCTIONS:
                return FUNCTIONS[name](*map(of, arguments))
        raise AnabranchError("not arithmetic", hint=f"numbers, + - * /, references, and {', '.join(FUNCTIONS)}")

    if len(text) > EXPRESSION:
        raise AnabranchError(f"expected at most {EXPRESSION} characters of arithmetic")
    try:
        tree = ast.parse(text, mode="eval").body
        if isinstance(tree, ast.Constant):
            raise AnabranchError("a number alone is no arithmetic", hint="{setting:NUMBER}, or a reference")
        return float(of(tree))
    except (SyntaxError, TypeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise AnabranchError(f"not arithmetic: {error}") from error


def calls(text: str) -> dict[tuple[str, str], Any]:
    """The references in arithmetic, kind and target, with what stands for their values until they are known.

    Examples
    --------
    >>> calls('1 + max(record("1/a:SCDP")) / claim("a")')
    {('record', '1/a:SCDP'): [nan], ('claim', 'a'): nan}
    """
    found: dict[tuple[str, str], Any] = {}

    def unknown(kind: str, target: str) -> Any:  # noqa: ANN401 - as above
        several = "*" in target if kind == "claim" else kind == "record" and "@" not in target
        return found.setdefault((kind, target), [math.nan] if several else math.nan)

    computed(text, unknown)
    return found

"""Compiles JMESPath expressions of the configuration, and evaluates them; what is missing in an answer is no error."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import Functions
from jmespath.visitor import TreeInterpreter

Node = dict[str, Any]
# Functions for values that may be missing. Any other function gives no result if an argument is missing.
_FOR_MISSING = frozenset({"not_null", "type", "to_array", "to_string"})
_OF_NUMBERS = frozenset({"sum", "avg", "min", "max"})


class ExpressionError(ValueError):
    """An expression that cannot be compiled or evaluated; the message says why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression; `compile_expression` creates it.

    Attributes:
        text: the text in the configuration.
    """

    text: str
    tree: Node = field(repr=False, compare=False)

    def read(self, document: object) -> Any:  # noqa: ANN401 - any JSON
        """Evaluate the expression.

        Returns:
            The result; None if a field that it reads is missing.

        Raises:
            ExpressionError: a function got a wrong type.
        """
        try:
            return _Tolerant().visit(self.tree, document)
        except JMESPathTypeError as error:
            wanted = " or ".join(map(str, error.expected_types))
            raise ExpressionError(f"{error.function_name}() found {error.actual_type}, expected {wanted}") from None
        except JMESPathError as error:
            raise ExpressionError(_first_line(error)) from None
        except (TypeError, ArithmeticError) as error:
            raise ExpressionError(f"cannot be evaluated: {_first_line(error)}") from None

    def canonical(self) -> str:
        """Return a text that is the same for all spellings of the expression: blanks, quotes, and the order of keys."""
        return json.dumps(_sorted(self.tree), sort_keys=True)

    def fields(self) -> frozenset[str]:
        """Return the names of the fields in the expression."""
        return frozenset(str(node["value"]) for node in _nodes(self.tree) if node["type"] == "field")

    def branches(self) -> Mapping[str, "Expression"] | None:
        """Return the parts of `{a: …, b: …}` by their keys; None for any other expression."""
        if self.tree["type"] != "multi_select_dict":
            return None
        return {str(node["value"]): Expression(self.text, node["children"][0]) for node in self.tree["children"]}

    def is_null(self, document: object) -> bool:
        """Return whether the document has a null at a plain path such as `data.Chart`; False for other expressions."""
        # The parser writes a plain path as subexpressions of two fields.
        nodes = [node for node in _nodes(self.tree) if node["type"] not in ("subexpression", "current")]
        for node in nodes:
            if node["type"] != "field" or not isinstance(document, dict) or node["value"] not in document:
                return False
            document = document[node["value"]]
        return document is None


def compile_expression(text: str) -> Expression:
    """Compile an expression.

    Raises:
        ExpressionError: it is invalid, uses an unknown function, or is nested too deeply.
    """
    try:
        tree: Node = jmespath.compile(text).parsed
    except RecursionError:
        raise ExpressionError("is nested too deeply") from None
    except (JMESPathError, ValueError) as error:
        raise ExpressionError(_first_line(error)) from None
    for node in _nodes(tree):
        if node["type"] == "function_expression":
            _check_function(node)
    return Expression(text, tree)


def integral(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a float that is an integer as that integer, because the platform's integers may arrive as `28.0`."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200].rstrip(":") or "is no expression"


def _check_function(node: Node) -> None:
    name, given = str(node["value"]), len(node["children"])
    known = Functions.FUNCTION_TABLE.get(name)
    if known is None:
        raise ExpressionError(f"there is no function {name}()")
    signature = known["signature"]
    is_variadic = bool(signature) and bool(signature[-1].get("variadic"))
    if given < len(signature) or (given > len(signature) and not is_variadic):
        least = "at least " if is_variadic else ""
        raise ExpressionError(f"{name}() takes {least}{len(signature)} argument(s), found {given}")


def _sorted(node: Any) -> Any:  # noqa: ANN401 - a bound of a slice is a number
    if not isinstance(node, dict):
        return node
    children = [_sorted(child) for child in node.get("children", ())]
    return {**node, "children": sorted(children, key=str) if node["type"] == "multi_select_dict" else children}


def _nodes(tree: Node) -> Iterator[Node]:
    """Return the nodes in the order of the text."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        # The children of a slice are its bounds.
        pending.extend(reversed([child for child in node.get("children", ()) if isinstance(child, dict)]))


class _Tolerant(TreeInterpreter):  # type: ignore[misc] # its stubs are partial
    """Evaluates an expression. A missing argument gives no result; functions of numbers ignore nulls in a list."""

    def visit_function_expression(self, node: Node, value: Any) -> Any:  # noqa: ANN401 - the library's signature
        """Call a function."""
        name = str(node["value"])
        given = [self.visit(child, value) for child in node["children"]]
        if name not in _FOR_MISSING and any(argument is None for argument in given):
            return None
        if name in _OF_NUMBERS and isinstance(given[0], list):
            given[0] = [item for item in given[0] if item is not None]
        return self._functions.call_function(name, given)

"""Compiles the JMESPath expressions of the configuration, and evaluates them; a missing field is not an error."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import Functions
from jmespath.visitor import TreeInterpreter

Node = dict[str, Any]
# The most levels of a syntax tree. A tree is evaluated recursively, and Python limits the depth of recursion.
MOST_LEVELS = 100
# Functions that accept null as an argument; a missing field is null, too. Any other function returns null if an
# argument is null.
_ACCEPT_NULL = frozenset({"not_null", "type", "to_array", "to_string"})
# Functions of a list. Nulls in the list are ignored; if all items are null, the result is null.
_IGNORE_NULLS = frozenset({"sum", "avg", "min", "max"})


class ExpressionError(ValueError):
    """An expression that cannot be compiled or evaluated; the message says why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression, created by `compile_expression`.

    Attributes:
        text: the text in the configuration; of a branch (`branches`), the text of the whole expression.
        tree: the syntax tree of the library jmespath.
    """

    text: str
    tree: Node = field(repr=False, compare=False)

    def read(self, document: object) -> Any:  # noqa: ANN401 - any JSON
        """Return the result of the expression; a missing field is read as null, which is None.

        Raises:
            ExpressionError: the result cannot be computed, for example because an argument has a wrong type.
        """
        try:
            return _Tolerant().visit(self.tree, document)
        except JMESPathTypeError as error:
            wanted = " or ".join(map(str, error.expected_types))
            raise ExpressionError(f"{error.function_name}() found {error.actual_type}, expected {wanted}") from None
        except JMESPathError as error:
            raise ExpressionError(_first_line(error)) from None
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ExpressionError(f"cannot be evaluated: {_first_line(error)}") from None

    def canonical(self) -> str:
        """Return one text for expressions that differ only in blanks, quotes of names, or the order of keys."""
        return json.dumps(_sorted_tree(self.tree), sort_keys=True)

    def fields(self) -> frozenset[str]:
        """Return the names of the fields in the expression."""
        return frozenset(str(node["value"]) for node in _nodes(self.tree) if node["type"] == "field")

    def branches(self) -> Mapping[str, "Expression"] | None:
        """Return key → expression if the expression has the form `{a: A, b: B}`, else None."""
        if self.tree["type"] != "multi_select_dict":
            return None
        return {str(node["value"]): Expression(self.text, node["children"][0]) for node in self.tree["children"]}

    def is_null(self, document: object) -> bool:
        """Return whether the expression is a path of fields, such as `data.Chart`, to a null in the document."""
        # The tree of a path consists of subexpressions and fields; `current` is an `@`, the document itself.
        nodes = [node for node in _nodes(self.tree) if node["type"] not in ("subexpression", "current")]
        for node in nodes:
            if node["type"] != "field" or not isinstance(document, dict) or node["value"] not in document:
                return False
            document = document[node["value"]]
        return document is None


def compile_expression(text: str) -> Expression:
    """Compile an expression.

    Raises:
        ExpressionError: the expression cannot be used; the message says why.
    """
    try:
        tree: Node = jmespath.compile(text).parsed
    except RecursionError:
        raise ExpressionError("is nested too deeply") from None
    except ValueError as error:
        # A JMESPathError, or Python's refusal to read an index of thousands of digits.
        raise ExpressionError(_first_line(error)) from None
    if _is_too_deep(tree):
        raise ExpressionError("is nested too deeply")
    for node in _nodes(tree):
        if node["type"] == "function_expression":
            _check_function(node)
    return Expression(text, tree)


def whole_as_integer(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Convert a whole float to an integer, as platforms may send `28.0` for 28; return other values unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _first_line(error: Exception) -> str:
    line, _, _ = str(error).partition("\n")
    # The library shows the expression after the colon, in the next lines.
    return line[:200].rstrip(":")


def _check_function(node: Node) -> None:
    """Raise ExpressionError if a call names an unknown function, or has a wrong number of arguments."""
    name, argument_count = str(node["value"]), len(node["children"])
    known = Functions.FUNCTION_TABLE.get(name)
    if known is None:
        raise ExpressionError(f"there is no function {name}()")
    signature = known["signature"]
    is_variadic = bool(signature[-1].get("variadic"))
    if argument_count < len(signature) or (argument_count > len(signature) and not is_variadic):
        least = "at least " if is_variadic else ""
        raise ExpressionError(f"{name}() takes {least}{len(signature)} argument(s), found {argument_count}")


def _sorted_tree(node: Any) -> Any:  # noqa: ANN401 - also a bound of a slice
    if not isinstance(node, dict):
        return node
    children = [_sorted_tree(child) for child in node.get("children", ())]
    return {**node, "children": sorted(children, key=str) if node["type"] == "multi_select_dict" else children}


def _children(node: Node) -> list[Node]:
    # The children of a slice are numbers or null, not nodes.
    return [child for child in node.get("children", ()) if isinstance(child, dict)]


def _nodes(tree: Node) -> Iterator[Node]:
    """Yield the nodes of a syntax tree, depth first."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(_children(node)))


def _is_too_deep(tree: Node) -> bool:
    level = [tree]
    for _ in range(MOST_LEVELS):
        level = [child for node in level for child in _children(node)]
    return bool(level)


class _Tolerant(TreeInterpreter):  # type: ignore[misc] # the library's stubs are partial
    """Evaluates an expression; a null as an argument of a function is not an error."""

    def visit_function_expression(self, node: Node, value: Any) -> Any:  # noqa: ANN401 - the library's signature
        name = str(node["value"])
        arguments = [self.visit(child, value) for child in node["children"]]
        if name not in _ACCEPT_NULL and None in arguments:
            return None
        if name in _IGNORE_NULLS and isinstance(arguments[0], list):
            present = [item for item in arguments[0] if item is not None]
            if arguments[0] and not present:
                return None
            arguments[0] = present
        return self._functions.call_function(name, arguments)

"""Finds the mutants of Rust sources, and writes sources in which each mutant can be switched on.

All mutants of a draw are compiled into one program (mutant schemata; R. Untch, J. Offutt and M. J. Harrold, "Mutation
analysis using mutant schemata", ISSTA 1993): `a < b` becomes `(if crate::mutants::on(7) { a <= b } else { a < b })`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_rust.language()))
# Operators that may replace an operator in an expression.
BINARY = {
    "<": ["<=", ">"],
    "<=": ["<", ">"],
    ">": [">=", "<"],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "%": ["/"],
    "&&": ["||"],
    "||": ["&&"],
    "<<": [">>"],
    ">>": ["<<"],
    "&": ["|"],
    "|": ["&"],
    "^": ["&"],
}
# Operator that replaces an operator of a compound assignment.
ASSIGNING = {
    "+=": "-=",
    "-=": "+=",
    "*=": "/=",
    "/=": "*=",
    "|=": "&=",
    "&=": "|=",
    "^=": "|=",
    "<<=": ">>=",
    ">>=": "<<=",
}
# Nodes that are not executed, or are evaluated at compile time, so that no mutant in them can be switched on.
OPAQUE = {
    "attribute_item",
    "inner_attribute_item",
    "const_item",
    "static_item",
    "const_block",
    "macro_definition",
    "macro_invocation",
    "token_tree",
    "enum_variant",
    "type_arguments",
    "type_parameters",
    "array_type",
    "match_pattern",
    "use_declaration",
    "range_pattern",
    "tuple_struct_pattern",
    "line_comment",
    "block_comment",
}
# Types of functions that may return 0 or 1.
NUMBERS = {"u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"}


@dataclass(frozen=True)
class Site:
    """A mutant: `original`, the bytes from `start` to `end` of a file, is replaced by `changed`."""

    path: str
    line: int
    start: int
    end: int
    original: str
    changed: str
    form: str
    """`value`: an expression; `statement`; `entry`: a statement before a function's body."""
    function: str
    """Name of the enclosing function; empty: there is none."""
    before: str
    """Lines of the source that contain the mutant, in their original form, with single spaces."""
    after: str
    """The same lines with the mutant."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identity of the mutant, which does not change with other lines of the file."""
        return self.path, self.function, self.before, self.after

    def __str__(self) -> str:
        short = [" ".join(text.split()) for text in (self.original, self.changed)]
        before, after = (text if len(text) <= 90 else f"{text[:87]}..." for text in short)
        if self.form == "entry":
            before = f"fn {self.function}"
        return f"{self.path}:{self.line}: `{before}` -> `{after}`"


def sites(root: Path, path: str) -> list[Site]:
    """Return all mutants of the file at `path`, relative to `root`, in the order of the source."""
    source = (root / path).read_bytes()
    found = []
    for node, (start, end), changed, form in _walk(PARSER.parse(source).root_node, source):
        first, last = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", end)
        before = source[first:last].decode()
        after = source[first:start].decode() + f" {changed} " + source[end:last].decode()
        lines = [" ".join(text.split()) for text in (before, after)]
        line = node.start_point.row + 1
        original = source[start:end].decode()
        found.append(Site(path, line, start, end, original, changed, form, _function(node, source), lines[0], lines[1]))
    return found


Found: TypeAlias = "tuple[Node, tuple[int, int], str, str]"
"""Node, range of bytes that is replaced, text that replaces it, and form of the mutant."""


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode()


def _function(node: Node, source: bytes) -> str:
    """Return the name of the innermost function around a node."""
    around: Node | None = node
    while around is not None and around.type != "function_item":
        around = around.parent
    name = around.child_by_field_name("name") if around is not None else None
    return _text(name, source) if name is not None else ""


def _is_test(node: Node, source: bytes) -> bool:
    """Return `True` if an attribute of an item restricts it to tests."""
    before = node.prev_sibling
    while before is not None and before.type in {"attribute_item", "line_comment"}:
        if before.type == "attribute_item" and "test" in _text(before, source):
            return True
        before = before.prev_sibling
    return False


def _skipped(node: Node, source: bytes) -> bool:
    """Return `True` if a node has no mutants: tests, constants, and code for debugging output."""
    if node.type in OPAQUE:
        return True
    if node.type in {"mod_item", "function_item", "impl_item"} and _is_test(node, source):
        return True
    if node.type == "impl_item":
        trait = node.child_by_field_name("trait")
        return trait is not None and _text(trait, source).split("::")[-1] in {"Debug", "Display"}
    if node.type == "function_item":
        modifiers = [child for child in node.children if child.type == "function_modifiers"]
        return any("const" in _text(child, source) for child in modifiers)
    return False


def _walk(node: Node, source: bytes) -> Iterator[Found]:
    """Yield the mutants of a node and of the nodes in it, except in patterns, lengths of arrays and names of fields."""
    if _skipped(node, source):
        return
    yield from _mutants(node, source)
    for child in node.children:
        parent = node.type
        if parent == "array_expression" and child == node.child_by_field_name("length"):
            continue
        if parent == "field_expression" and child == node.child_by_field_name("field"):
            continue
        if parent in {"match_arm", "let_declaration", "closure_expression", "let_condition", "parameter"}:
            pattern = node.child_by_field_name("pattern")
            if child == pattern or (parent == "closure_expression" and child.type == "closure_parameters"):
                continue
        yield from _walk(child, source)


def _mutants(node: Node, source: bytes) -> Iterator[Found]:
    """Yield the mutants of a node itself."""
    span = (node.start_byte, node.end_byte)
    match node.type:
        case "binary_expression":
            left, operator, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
            if left and operator and right and not _holds_let(node):
                a, b = _text(left, source), _text(right, source)
                for other in BINARY.get(_text(operator, source), []):
                    yield node, span, f"({a}) {other} ({b})", "value"
        case "compound_assignment_expr":
            left, operator, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
            parent = node.parent
            if left and operator and right and parent is not None and parent.type == "expression_statement":
                outer = (parent.start_byte, parent.end_byte)
                changed = ASSIGNING.get(_text(operator, source), "")
                if changed:
                    yield node, outer, f"{_text(left, source)} {changed} {_text(right, source)};", "statement"
                yield node, outer, "", "statement"
        case "unary_expression":
            if source[node.start_byte : node.start_byte + 1] in b"!-":
                yield node, span, _text(node, source)[1:], "value"
        case "integer_literal":
            digits = _text(node, source).replace("_", "")
            if digits.isdigit():
                yield node, span, str(int(digits) + 1), "value"
        case "float_literal":
            yield node, span, f"{_text(node, source)} + 1.0", "value"
        case "expression_statement":
            if node.children[0].type in {"assignment_expression", "call_expression"}:
                yield node, span, "", "statement"
        case "function_item":
            yield from _bodies(node, source)


def _holds_let(node: Node) -> bool:
    return node.type in {"let_condition", "let_chain"} or any(_holds_let(child) for child in node.children)


def _bodies(node: Node, source: bytes) -> Iterator[Found]:
    """Yield the mutants of a function that return a constant at once."""
    body, kind = node.child_by_field_name("body"), node.child_by_field_name("return_type")
    if body is None or body.named_child_count == 0:
        return
    entry = (body.start_byte + 1, body.start_byte + 1)
    text = "" if kind is None else _text(kind, source)
    values: list[str] = []
    if not text:
        values = [""]
    elif text == "bool":
        values = ["true", "false"]
    elif text in NUMBERS:
        values = ["0", "1"]
    elif text in {"f64", "f32"}:
        values = ["0.0", "1.0"]
    elif text.startswith("Option<"):
        values = ["None"]
    elif text in {"Time", "Dur"}:
        values = [f"{text}::ZERO"]
    for value in values:
        if value and _text(body, source).strip("{} \n") == value:
            # The function returns this value anyway.
            continue
        yield node, entry, f"return {value};".replace(" ;", ";"), "entry"


def instrumented(source: bytes, chosen: dict[int, Site]) -> tuple[bytes, dict[int, tuple[int, int]]]:
    """Return a file with the chosen mutants, by number, and the range of bytes of each in the new file."""
    text = _rendered(
        source, 0, len(source), sorted(chosen.items(), key=lambda one: (one[1].start, -one[1].end, one[0]))
    )
    places: dict[int, tuple[int, int]] = {}
    for number in chosen:
        begin, end = text.find(b"/*m%d*/" % number), text.rfind(b"/*m%d.*/" % number)
        places[number] = (begin, end)
    return text, places


def _rendered(source: bytes, start: int, end: int, chosen: list[tuple[int, Site]]) -> bytes:
    """Return a part of a source with its mutants; in `chosen`, outer ones are before inner ones."""
    parts, at, left = [], start, list(chosen)
    while left:
        number, site = left.pop(0)
        same = [one for one in left if (one[1].start, one[1].end) == (site.start, site.end)]
        inside = [one for one in left if one not in same and site.start <= one[1].start and one[1].end <= site.end]
        left = [one for one in left if one not in same and one not in inside]
        parts.append(source[at : site.start])
        original = _rendered(source, site.start, site.end, inside) if site.end > site.start else b""
        for mutant, other in [(number, site), *same]:
            original = _switched(mutant, other, original)
        parts.append(original)
        at = site.end
    return b"".join([*parts, source[at:end]])


def _switched(number: int, site: Site, original: bytes) -> bytes:
    """Return the code that executes mutant `number` if it is switched on, else `original`."""
    changed, on = site.changed.encode(), b"crate::mutants::on(%d)" % number
    begin, end = b"/*m%d*/" % number, b"/*m%d.*/" % number
    if site.form == "entry":
        return begin + b" if " + on + b" { " + changed + b" } " + end + original
    if site.form == "statement":
        return begin + b" if " + on + b" { " + changed + b" } else { " + original + b" } " + end
    return b"(" + begin + b"if " + on + b" { " + changed + b" } else { " + original + b" }" + end + b")"


RUNTIME = """
/// Switches of mutants, by environment variables.
#[doc(hidden)]
#[allow(missing_docs, clippy::all, clippy::pedantic, clippy::disallowed_methods)]
pub mod mutants {
    use std::io::Write;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static ACTIVE: OnceLock<(u32, Option<String>)> = OnceLock::new();
    static SEEN: [AtomicBool; 65536] = [const { AtomicBool::new(false) }; 65536];

    #[inline]
    pub fn on(number: u32) -> bool {
        let (active, reached) = ACTIVE.get_or_init(|| {
            let active = std::env::var("TAILBACK_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
            (active, std::env::var("TAILBACK_REACHED").ok())
        });
        if let Some(path) = reached {
            note(number, path);
        }
        *active == number
    }

    #[cold]
    #[inline(never)]
    fn note(number: u32, path: &str) {
        if !SEEN[number as usize].swap(true, Ordering::Relaxed) {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("opens");
            file.write_all(format!("{number}\\n").as_bytes()).expect("writes");
        }
    }
}
"""

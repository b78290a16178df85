"""Reads what the C++ headers say of their classes and functions, for the docstrings of the bindings.

    python docstrings.py OUTPUT HEADER...

writes a C++ table of names and texts, which python/bindings/docstrings.hpp looks into when it is
compiled: a name that no header describes is an error of the compiler. A text is the `///` comment
before a declaration, or the `//` comment behind it on the same line, in Python's words. Overloads after
the first are "name#2", "name#3".
"""

import re
import sys
import textwrap
from pathlib import Path

# Python raises what C++ throws.
WORDS = [
    (r"\bThrows\b", "Raises"),
    (r"\bthrows\b", "raises"),
    (r"\bthrow\b", "raise"),
    (r"\bthrown\b", "raised"),
    (r"\bGaussianPolicy\b", "Policy"),
    (r"(?<=\w)::(?=\w)", "."),
]

SCOPE = re.compile(r"(?:class|struct|enum class|enum|namespace)\s+(?:\[\[\w+\]\]\s*)?(?P<name>[\w:]+)[^;()=]*$")
NOT_NAMES = {"if", "for", "while", "switch", "return", "require", "static_assert", "decltype", "noexcept"}


def in_python(text: str) -> str:
    """The text of a comment in Python's words."""
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    return text


def paragraphs(lines: list[str]) -> str:
    """Running text and entries of lists filled anew; other lines that are set off, such as formulas, as they are."""
    blocks, running = [], []

    def finish():
        if running:
            hang = "  " if running[0].startswith("- ") else ""
            text = " ".join(running)
            blocks.append(textwrap.fill(text, 88, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False))
            running.clear()

    for line in lines:
        entry = bool(running) and running[0].startswith("- ")
        if not line.strip():
            finish()
            blocks.append("")
        elif line.lstrip().startswith("- ") or entry and not line.startswith("  "):
            finish()
            running.append(line.strip())
        elif line.startswith("  ") and not entry:
            finish()
            blocks.append(line.rstrip())
        else:
            running.append(line.strip())
    finish()
    return in_python("\n".join(blocks).strip())


def declared(statement: str) -> str:
    """The name that a declaration introduces, or "" if it introduces none."""
    statement = re.sub(r"^(\s*template\s*<[^>]*>)+", "", statement).strip()
    scope = SCOPE.match(statement.split("{")[0].strip())
    if scope:
        return scope["name"]
    taken_over = re.match(r"using [\w:]+::(\w+);", statement)
    if taken_over:
        return taken_over[1]
    if statement.startswith(("using ", "friend ", "public:", "private:", "protected:", "#", "}")):
        return ""
    function = re.search(r"(~?\w+|operator\s*\S+?)\s*\(", statement)
    before = statement.split("=")[0]
    if function and function.start() < len(before):
        return "" if function[1] in NOT_NAMES else function[1]
    field = re.search(r"(\w+)\s*(?:;|=|\{|,|$)", statement)
    return field[1] if field else ""


def described(header: str) -> list[tuple[str, str]]:
    """(name, text) of everything that a header describes, in its order."""
    found: list[tuple[str, str]] = []
    scopes: list[str] = []  # a name for each open brace; "" for the inside of functions
    comment: list[str] = []
    statement, behind = "", ""
    for line in header.split("\n"):
        stripped = line.strip()
        if stripped.startswith("///"):
            comment.append(stripped[3:].removeprefix(" "))
            continue
        if not stripped or stripped.startswith(("//", "#")):
            if not stripped:
                comment = []
            continue
        code, _, said = re.sub(r'"(\\.|[^"\\])*"', '""', stripped).partition("//")
        behind = behind or said.strip()
        statement = f"{statement} {code.strip()}".strip()
        opened, closed = statement.count("{"), statement.count("}")
        complete = statement.endswith((";", ",", ":")) and opened == closed or opened != closed or statement.endswith("}")
        inside = any(scope == "" for scope in scopes)
        if not complete and not inside:
            # An enumerator without a comma is complete as well.
            complete = re.fullmatch(r"\w+", statement) is not None and not comment
        if not complete and not inside:
            continue
        name = "" if inside else declared(statement)
        text = comment or ([behind] if behind else [])
        if name and text:
            path = "::".join([scope for scope in scopes if scope] + [name])
            number = sum(1 for known, _ in found if re.fullmatch(re.escape(path) + r"(#\d+)?", known))
            found.append((path if number == 0 else f"{path}#{number + 1}", paragraphs(text)))
        head = statement.split("{")[0].strip()
        for _ in range(opened - closed):
            scope = SCOPE.match(re.sub(r"^(\s*template\s*<[^>]*>)+", "", head).strip())
            is_namespace = head.startswith("namespace")
            scopes.append("<namespace>" if is_namespace else scope["name"] if scope and not inside else "")
        for _ in range(closed - opened):
            if scopes:
                scopes.pop()
        comment, statement, behind = [], "", ""
    return [(name.replace("<namespace>::", ""), text) for name, text in found]


def read_headers(paths) -> dict[str, str]:
    """The text of every name that one of these headers describes; the first header has the word."""
    texts: dict[str, str] = {}
    for path in paths:
        for name, text in described(Path(path).read_text(encoding="utf-8")):
            texts.setdefault(name, text)
    return texts


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence."""
    end = re.search(r"\.(?=\s+[^a-z\s]|\s*$)", text)
    return text[: end.end()] if end else text


def literal(text: str) -> str:
    """A C++ string literal."""
    lines = text.replace("\\", "\\\\").replace('"', '\\"').split("\n")
    return "\n     ".join([f'"{line}\\n"' for line in lines[:-1]] + [f'"{lines[-1]}"'])


def main(output: str, headers: list[str]):
    texts = read_headers(headers)
    rows = "".join(
        f'    {{"{name}",\n     {literal(text)},\n     {literal(first_sentence(text))}}},\n' for name, text in sorted(texts.items())
    )
    table = (
        "// Made by python/docstrings.py from the comments of the headers.\n#pragma once\n\n"
        f"namespace lifeguard::python {{\n\ninline constexpr HeaderText kHeaderTexts[] = {{\n{rows}}};\n\n"
        "}  // namespace lifeguard::python\n"
    )
    path = Path(output)
    if not path.exists() or path.read_text(encoding="utf-8") != table:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

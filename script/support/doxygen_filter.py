"""Prints a header as Doxygen should read it: the comments of this repository in Doxygen's words.

- A comment behind a field or an enumerator describes it:           int task = -1;  // of the round
- A comment describes all functions that follow without an empty line: overloads, getters and setters.
- Comparisons that compare everything, and checks of settings, need no comment in every type.
"""

import re
import sys

BEHIND = re.compile(r"^(\s*\w.*?[\w;,})])\s+// (?=\S)(.*)$")
COMPARISON = re.compile(r"^\s*bool operator==\(.*\) const( = default)?;( .*)?$")
VALIDATE = re.compile(r"^ *void validate\([^)]*\) const;")
NO_FUNCTION = re.compile(r"^\s*(struct|class|enum|using|typedef|friend|namespace|public|private|protected)\b")
FUNCTION = re.compile(r"^[^=]*\(")


def indentation(line):
    return len(line) - len(line.lstrip(" "))


def is_comment(line):
    return line.lstrip().startswith("///")


def described(line, comment):
    """The line with its comment before it, so that lines keep their numbers."""
    return f"{' ' * indentation(line)}/** {comment} */ {line.lstrip()}"


def filtered(lines):
    out = []
    comment = None  # of the functions in this paragraph
    indent = 0
    first = False  # the comment itself stands right before this line
    for number, line in enumerate(lines):
        if is_comment(line):
            text = line.strip().removeprefix("///").strip()
            if number > 0 and is_comment(lines[number - 1]):
                comment += " " + text
            else:
                comment = text
            indent = indentation(line)
            first = True
        elif not line.strip():
            comment = None
        elif comment is not None and indentation(line) == indent:
            if line.lstrip().startswith("template"):
                pass
            elif NO_FUNCTION.match(line) or not FUNCTION.match(line):
                if not line.lstrip().startswith("}"):
                    comment = None
            elif not (first or COMPARISON.match(line) or VALIDATE.match(line) or BEHIND.match(line)):
                line = described(line, comment)
            first = first and line.lstrip().startswith("template")
        if COMPARISON.match(line):
            line = ""
        elif VALIDATE.match(line) and not is_comment(lines[number - 1]):
            line = described(line, "Throws InvalidInput, with field, value and rule, unless all is valid.")
        out.append(BEHIND.sub(r"\1  ///< \2", line))
    return out


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write("\n".join(filtered(file.read().split("\n"))))

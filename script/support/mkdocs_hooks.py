"""What the documentation site does with what lies outside docs/.

Pages link to files of the repository (../examples/pendulum.hpp): these become pages of the site with
their text, so that it is complete without a network. CONTRIBUTING.md and CHANGELOG.md become pages as
they are. The reference of the C++ interface, made by Doxygen in build/api, is part of the site, so
that links into it are checked like all others.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File

log = get_plugin_logger("lifeguard")

TOP = Path(__file__).resolve().parents[2]
PROJECT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".toml": "toml", ".py": "python", ".mjs": "js"}
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
LIST_ITEM = re.compile(r"([-*]|\d+\.) ")


def site_path(path):
    """Where a file of the repository, named from its top, stands in the site; None if nowhere."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path in PROJECT_PAGES:
        return PROJECT_PAGES[path]
    if (TOP / path).is_file() and Path(path).suffix in LANGUAGES:
        return f"source/{path}.md"
    return None


def with_links(text, repository_path, site_page):
    """The text with links that are right on GitHub replaced by those that are right in the site."""

    def replaced(match):
        target = match[2]
        if re.match(r"[a-z]+:", target):
            return match[0]
        named = posixpath.normpath(posixpath.join(posixpath.dirname(repository_path), target))
        there = site_path(named)
        if there is None:
            return match[0]  # mkdocs says that it leads nowhere
        return match[1] + posixpath.relpath(there, posixpath.dirname(site_page) or ".") + match[3]

    return LINK.sub(replaced, text)


def linked_files():
    """Files of the repository that pages link to and that are no pages themselves."""
    found = set()
    pages = [*sorted((TOP / "docs").rglob("*.md")), *(TOP / page for page in PROJECT_PAGES)]
    for page in pages:
        folder = page.relative_to(TOP).parent.as_posix()
        for match in LINK.finditer(page.read_text()):
            path = posixpath.normpath(posixpath.join(folder, match[2]))
            if (site_path(path) or "").startswith("source/"):
                found.add(path)
    return sorted(found)


def check_readme():
    """README.md is no page of the site, but its links must lead somewhere too."""
    for match in LINK.finditer((TOP / "README.md").read_text()):
        if not re.match(r"[a-z]+:", match[2]) and not (TOP / match[2]).exists():
            log.warning("README.md links to %s, which does not exist", match[2])


def on_files(files, config):
    check_readme()
    for name, page in PROJECT_PAGES.items():
        text = with_links((TOP / name).read_text(), name, page)
        files.append(File.generated(config, page, content=text))
    for path in linked_files():
        text = (TOP / path).read_text()
        content = f"# {path}\n\n````{LANGUAGES[Path(path).suffix]}\n{text}````\n"
        files.append(File.generated(config, f"source/{path}.md", content=content))
    reference = TOP / "build/api"
    for path in sorted(reference.rglob("*")):
        if path.is_file():
            name = f"api/{path.relative_to(reference).as_posix()}"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, **_):
    before = ""
    in_code = False
    for line in markdown.splitlines():
        in_code ^= line.startswith("```")
        # GitHub begins a list within a paragraph, Python's Markdown does not.
        if not in_code and LIST_ITEM.match(line) and before and not before.startswith((" ", "#")):
            if not LIST_ITEM.match(before):
                log.warning("%s: an empty line is missing before: %s", page.file.src_path, line)
        before = line
    if page.file.src_path.startswith("source/") or page.file.src_path in PROJECT_PAGES.values():
        return markdown
    return with_links(markdown, f"docs/{page.file.src_path}", page.file.src_path)

#!/usr/bin/env python3
"""Builds the manual as a static site: pages without scripts, for any web server.

    deploy/manual/build.py OUT

Needs python3-markdown (Debian). Exits with 1 and one line for each broken link.
"""

import html
import os
import pathlib
import re
import shutil
import sys

import markdown

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BYTES_MAX = 16 << 20
# Pages outside docs/. In the site, they are at the top as well.
ROOT_PAGES = ("README", "CHANGELOG")
# Parts of the manual by task. Each page of docs is in one part; design pages are for developers.
DEVELOPERS = "Developers"
PARTS = (
    ("Start", ("FIRST_HOUR", "README", "OPERATIONS", "SIZING", "KUBERNETES", "SLURM", "WEB",
               "SECURITY", "ACCESS")),
    ("Guides", ("LOSSLESS_ROCE", "INFINIBAND", "GPUDIRECT", "FINDINGS", "PROFILES", "CUSTOM_RULES",
                "PROBES", "CERTIFY", "API_EXAMPLES")),
    ("Runbooks", ("runbooks/*", "runbooks/rules/*")),
    ("Reference", ("reference/*", "BENCHMARKS", "COMPARISON", "GLOSSARY", "CHANGELOG")),
    (DEVELOPERS, ("ARCHITECTURE", "ADDING", "STYLE", "design/*")),
)
INDEX = "index-of-headings"
WHOLE = "whole-manual"
POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
STYLE = """:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: flex; flex-wrap: wrap; }
nav { flex: 0 0 15rem; padding: 1rem; font-size: .9rem; }
nav h2 { font-size: 1rem; margin: 1rem 0 .2rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
main { flex: 1 1 30rem; min-width: 0; max-width: 60rem; padding: 1rem 1.5rem; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid #8886; border-radius: 4px; }
code { font: .9em ui-monospace, monospace; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { border: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
"""


class Page:
    """A page of the manual: name ("runbooks/X"), title, HTML, anchors."""

    def __init__(self, name):
        self.name = name
        self.source = (ROOT if name in ROOT_PAGES else DOCS) / f"{name}.md"
        text = self.source.read_text()
        self.title = re.search(r"^# (.*)$", text, re.M)[1].replace("`", "")
        converter = markdown.Markdown(extensions=["tables", "fenced_code", "toc", "sane_lists"],
                                      extension_configs={"toc": {"slugify": anchor}})
        self.body = converter.convert(text)
        self.anchors = set(re.findall(r' id="([^"]+)"', self.body))


def anchor(text, _separator):
    """The anchor that GitHub gives a heading, so that links work in both places."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def names():
    for part, patterns in PARTS:
        found = []
        for pattern in patterns:
            if pattern in ROOT_PAGES:
                found.append(pattern)
            found += sorted(path.relative_to(DOCS).with_suffix("").as_posix()
                            for path in DOCS.glob(f"{pattern}.md"))
        yield part, found


def entries(pages):
    """The headings of all pages by letter: {"A": [(text, page title, address)]}."""
    letters = {}
    for page in pages.values():
        for identifier, text in re.findall(r'<h[1-4] id="([^"]+)">(.*?)</h[1-4]>', page.body, re.S):
            plain = html.unescape(re.sub(r"<[^>]+>", "", text)).strip()
            first = re.sub(r"^[^A-Za-z0-9]+", "", plain)[:1].upper()
            letter = first if first.isalpha() else "0-9"
            letters.setdefault(letter, []).append(
                (plain, page.title, f"{page.name}.html#{identifier}"))
    return {letter: sorted(letters[letter], key=lambda entry: (entry[0].lower(), entry[1].lower()))
            for letter in sorted(letters)}


def index(pages):
    """The page that lists them, for the search of the browser: pages have no scripts."""
    lines = ["<h1>Index</h1>", "<p>All headings of the manual: rules, alerts, settings, commands, "
             "tasks. To search, use the search of the browser (Ctrl-F), here or in the "
             f'<a href="{WHOLE}.html">whole manual on one page</a>.</p>', "<p>"]
    found = entries(pages)
    lines += [f'<a href="#letter-{letter}">{letter}</a>' for letter in found]
    lines.append("</p>")
    for letter, rows in found.items():
        lines.append(f'<h2 id="letter-{letter}">{letter}</h2><ul>')
        for text, title, address in rows:
            where = "" if text == title else f" <small>{html.escape(title)}</small>"
            lines.append(f'<li><a href="{html.escape(address)}">{html.escape(text)}</a>'
                         f"{where}</li>")
        lines.append("</ul>")
    return "\n".join(lines)


def navigation(parts, pages, current):
    up = "../" * current.count("/")
    lines = []
    for name, title in ((INDEX, "Index"), (WHOLE, "Search: whole manual on one page")):
        here = ' aria-current="page"' if name == current else ""
        lines.append(f'<p><a href="{up}{name}.html"{here}>{title}</a></p>')
    for part, found in parts:
        lines.append(f"<h2>{part}</h2><ul>")
        for name in found:
            here = ' aria-current="page"' if name == current else ""
            lines.append(f'<li><a href="{up}{name}.html"{here}>'
                         f"{html.escape(pages[name].title)}</a></li>")
        lines.append("</ul>")
    return "\n".join(lines)


def link(page, target, pages, problems):
    """The target in the site. Folders, and files outside docs, are named, not linked."""
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        if target.startswith("#") and target[1:] not in page.anchors:
            problems.append(f"{page.name}: no anchor {target}")
        return target
    path, _, fragment = target.partition("#")
    full = (page.source.parent / path).resolve()
    if not full.exists():
        problems.append(f"{page.name}: no file {target}")
        return None
    root_page = full.parent == ROOT and full.stem in ROOT_PAGES
    if full.is_dir() or DOCS not in full.parents and not root_page:
        return None
    site = full.name if root_page else full.relative_to(DOCS).as_posix()
    path = os.path.relpath(site, os.path.dirname(page.name) or ".")
    name = site.removesuffix(".md")
    if full.suffix != ".md" or name not in pages:
        return path
    if fragment and fragment not in pages[name].anchors:
        problems.append(f"{page.name}: {name} has no anchor #{fragment}")
    return path.removesuffix(".md") + ".html" + (f"#{fragment}" if fragment else "")


def with_links(page, pages, problems):
    def change(match):
        target = link(page, html.unescape(match[1]), pages, problems)
        return match[2] if target is None else f'<a href="{html.escape(target)}">{match[2]}</a>'
    body = re.sub(r'<a href="([^"]*)">(.*?)</a>', change, page.body, flags=re.S)
    return body.replace("<table>", '<div class="wide"><table>').replace("</table>",
                                                                        "</table></div>")


def whole(parts, pages, bodies):
    """The pages for operators as one, so that the search of the browser finds each word. Without
    anchors, which several pages have; the title of a page leads to the page."""
    text = ["<h1>Whole manual</h1>",
            "<p>To search all pages, use the search of the browser (Ctrl-F).</p>"]
    for name in [name for part, found in parts if part != DEVELOPERS for name in found]:
        body = re.sub(r' id="[^"]*"', "", bodies[name])
        folder = os.path.dirname(name)

        def from_top(match, name=name, folder=folder):
            target = match[2]
            if re.match(r"[a-z]+:", target):
                return match[0]
            target = f"{name}.html{target}" if target.startswith("#") else os.path.normpath(
                os.path.join(folder, target))
            return f'{match[1]}="{target}"'
        body = re.sub(r'\b(href|src)="([^"]*)"', from_top, body)
        text.append(re.sub(r"<h1>(.*?)</h1>", rf'<h1><a href="{name}.html">\1</a></h1>', body,
                           count=1, flags=re.S))
    return "\n".join(text)


def document(name, title, body, sidebar):
    up = "../" * name.count("/")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">
<title>{html.escape(title)} - fabricd</title>
<link rel="stylesheet" href="{up}style.css">
</head>
<body>
<nav aria-label="Manual">
{sidebar}
</nav>
<main>
{body}
</main>
</body>
</html>
"""


def build(out):
    """Writes the site. Returns the problems."""
    problems = []
    parts = list(names())
    pages = {name: Page(name) for _, found in parts for name in found}
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).with_suffix("").as_posix()
        if name not in pages:
            problems.append(f"{name}: in no part of the manual")
    bodies = {page.name: with_links(page, pages, problems) for page in pages.values()}
    for page in pages.values():
        path = out / f"{page.name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document(page.name, page.title, bodies[page.name],
                                 navigation(parts, pages, page.name)))
    (out / f"{INDEX}.html").write_text(
        document(INDEX, "Index", index(pages), navigation(parts, pages, INDEX)))
    (out / f"{WHOLE}.html").write_text(
        document(WHOLE, "Whole manual", whole(parts, pages, bodies),
                 navigation(parts, pages, WHOLE)))
    (out / "style.css").write_text(STYLE)
    shutil.copytree(DOCS / "images", out / "images", dirs_exist_ok=True)
    shutil.copy(out / f"{parts[0][1][0]}.html", out / "index.html")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if size > BYTES_MAX:
        problems.append(f"expected at most {BYTES_MAX} bytes, saw {size}")
    return problems


def main():
    if len(sys.argv) != 2:
        print("usage: deploy/manual/build.py OUT", file=sys.stderr)
        return 2
    problems = build(pathlib.Path(sys.argv[1]))
    for problem in problems:
        print(f"manual: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

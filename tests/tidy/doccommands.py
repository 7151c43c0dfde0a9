"""Commands of fabricctl in docs exist, with the options that docs use.

The reference of the commands (docs/reference/CLI.md) is generated from the program, and a unit test
compares them. Here, each command line in a code block or code span of a page is compared with it.
"""

import re

from tree import Problem

REFERENCE = "docs/reference/CLI.md"
FREE = ("reference", "lost")   # Not in the help; the example of docs/ADDING.md
_CODE = re.compile(r"^(?: {4}|\t)(?P<block>.*)$|(?<!`)`(?P<span>[^`\n]+)`(?!`)"
                   r"|^```.*\n(?P<fence>(?:.*\n)*?)^```", re.M)
_CALL = re.compile(r"(?<![\w/.-])fabricctl((?: +[^\s|;&#<>()`$\"']+)+)")
_WORD = re.compile(r"[a-z][a-z0-9-]*$")


def _options(text):
    return {word for cell in re.findall(r"^\| (`.*?`) \|", text, re.M)
            for word in re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", cell)}


def _commands(reference):
    """Options by command; those of every command below the empty name."""
    commands = {"": {"--help", "-h"}}
    for section in re.split(r"^## ", reference, flags=re.M)[1:]:
        title = section.split("\n", 1)[0].strip()
        if title.startswith("fabricctl "):
            commands[title.removeprefix("fabricctl ")] = _options(section)
        elif title == "Options of every command":
            commands[""] |= _options(section)
    return commands


def _fault(words, commands):
    """The reason why the program would refuse this command line, or None."""
    name = words[0]
    if not _WORD.match(name) or name in FREE:
        return None  # An option, a placeholder, or a list such as "backup|restore"
    both = " ".join(words[:2])
    known = next((each for each in (" ".join(words[:3]), both) if each in commands), name)
    if known not in commands:
        if not any(each.startswith(name + " ") for each in commands):
            return f"unknown command '{name}'"
        if len(words) == 1 or not _WORD.match(words[1]):
            return None  # A group of commands
        return f"unknown command '{both}'"
    for word in words:
        option = re.match(r"--[a-z][a-z0-9-]*", word)
        if option and option[0] not in commands[known] | commands[""]:
            return f"'{known}' has no option {option[0]}"
    return None


def check_commands(tree):
    if not tree.exists(REFERENCE):
        return
    commands = _commands(tree.text(REFERENCE))
    for page in tree.files:
        if not page.endswith(".md") or page in (REFERENCE, "docs/STYLE.md"):
            continue
        text = tree.text(page)
        for code in _CODE.finditer(text):
            start = code.start(code.lastgroup)
            for call in _CALL.finditer(code[code.lastgroup].replace("\\\n", "  ")):
                fault = _fault(call[1].split(), commands)
                if fault:
                    line = text.count("\n", 0, start + call.start()) + 1
                    yield Problem(page, line, "fabricctl" + call[1], fault)

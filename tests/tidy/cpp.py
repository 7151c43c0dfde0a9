"""Just enough of C++ to find functions, words and comments; not a parser."""

import re

_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|(?P<raw>R"(?P<tag>[^(\s]{0,16})\(.*?\)(?P=tag)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9])'(?:\\.[^']*|[^'\\\n])')",
    re.S)

_DIRECTIVE = re.compile(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", re.M)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return _TOKEN.sub(lambda m: _blank(m[0]) if m["comment"] else m[0], text)


def code_only(text):
    """Comments, strings and characters become blanks; lines and columns stay."""
    return _TOKEN.sub(lambda m: _blank(m[0]), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def _kind(head):
    """What a brace opens, by the text before it since the last one or semicolon."""
    if re.search(r"\bnamespace\b|^\s*extern\s*$", head):
        return "scope"
    if re.search(r"\)[^=]*$", head) and not re.search(r"^\s*(class|struct|enum|union)\b", head):
        return "function"
    if re.search(r"\b(class|struct|enum|union)\b", head):
        return "scope"
    return "other"


def functions(text):
    """Yields (first line, length in lines) of each outermost function, lambdas of tables too."""
    code = _DIRECTIVE.sub(lambda m: _blank(m[0]), code_only(text))
    stack = []
    head_begin = 0
    for match in re.finditer(r"[{};]", code):
        if match[0] == "{":
            head = code[head_begin:match.start()]
            inside = any(kind == "function" for kind, _ in stack)
            kind = "inner" if inside else _kind(head)
            begin = head_begin + len(head) - len(head.lstrip())
            stack.append((kind, line_of(code, begin)))
        elif match[0] == "}" and stack:
            kind, line = stack.pop()
            if kind == "function":
                yield line, line_of(code, match.start()) - line + 1
        head_begin = match.end()


INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def includes(text):
    """Yields (line, '"' or '<', path)."""
    for match in INCLUDE.finditer(without_comments(text)):
        yield line_of(text, match.start(1)), match[1], match[2]

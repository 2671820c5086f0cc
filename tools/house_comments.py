"""Writes a header of ours as Doxygen wants it, line for line (for check_docs.py).

The house says a thing once (spec/style.md B7), Doxygen wants it at each name:
  - the comment at the top is the file's, and that of its opaque types;
  - a comment on lines of its own is about every declaration that follows, up to a blank line or the next such comment;
    blank lines between the bodies of inline functions do not count;
  - a comment behind a declaration is about that one;
  - what says no more than its name in a struct or enum is covered by the comment over the type.
What no comment covers stays bare, and Doxygen warns of it.
"""
import re

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<macro>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
      | (?P<code>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\w+|\S)
      | (?P<space>\s+)""",
    re.S | re.M | re.X,
)
OPAQUE = re.compile(r"typedef (?:struct|union) (\w+) \w+ ?;$")
DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)(.*)", re.S)


def plain(comment):
    """The words of a comment on one line; what Doxygen would take for a command becomes an entity."""
    text = comment[2:-2] if comment.startswith("/*") else comment[2:]
    words = " ".join(re.sub(r"^\s*\*(?=\s|$)", "", line).strip() for line in text.split("\n")).strip()
    return re.sub(r'[<>@\\#%"]', lambda m: f"&#{ord(m[0])};", words)


def brace_kind(code):
    """What an opening brace behind this code begins: a struct, an enum, or something whose inside is nobody's business."""
    m = re.match(r"(?:typedef )?(struct|union|enum)\b[^=(]*$", code)
    return "body" if m is None else "enum" if m[1] == "enum" else "struct"


class Scope:
    """The file, or a pair of braces in it."""

    def __init__(self, kind, over):
        self.kind = kind  # file, struct, enum, body
        self.over = over  # the comment over the file or the type
        self.run = ""  # the comment over the present run of declarations
        self.slot = None  # where in the output the comment of the declaration under way goes
        self.more = []  # the same for further names in it: u64 first, last;
        self.code = ""  # of that declaration, blanks folded
        self.last = None  # slot of a declaration that ended on this line
        self.behind = ""  # the comment behind it so far
        self.was_inline = False  # it had a body


class Filter:
    def __init__(self, text):
        self.text = text
        self.out = []
        self.opaque = {}  # comments of types that are declared first and described later
        self.macros = []  # comments of macros, which stand at the end
        self.scopes = [Scope("file", "")]

    def filtered(self):
        on_line = False  # code stands before this on its line
        for m in TOKEN.finditer(self.text):
            scope, text = self.scopes[-1], m[0]
            if m.lastgroup == "space":
                on_line = on_line and "\n" not in text
                self.space(scope, text, m.end())
            elif m.lastgroup == "comment":
                self.comment(scope, text, on_line, m.end())
            elif m.lastgroup == "macro":
                self.macro(scope, text)
                on_line = True
            else:
                self.code(scope, text)
                on_line = True
        return "".join(self.out).rstrip("\n") + "\n" + " ".join(self.macros) + "\n"

    def space(self, scope, text, end):
        if "\n" in text:
            scope.last, scope.behind = (scope.last, scope.behind) if self.goes_on(end) else (None, "")
        if text.count("\n") > 1 and scope.slot is None:
            if not (scope.was_inline and self.text.startswith(("CD_INLINE", "static inline"), end)):
                scope.run = ""
        if scope.slot is not None:
            scope.code += " "
        self.out.append(text)

    def goes_on(self, end):
        """A comment behind a declaration goes on with a `//` in the next line's same place."""
        return self.text.startswith("//", end) and self.text[: end].rsplit("\n", 1)[-1].strip() == ""

    def comment(self, scope, text, on_line, end):
        self.out.append("\n" * text.count("\n"))
        if scope.kind == "body":
            return
        words = plain(text)
        slot = scope.slot if scope.slot is not None else scope.last
        if slot is not None and (on_line or scope.last is not None):
            scope.behind = f"{scope.behind} {words}".strip()
            for at in (slot, *scope.more):
                self.out[at] = f"/** {scope.behind} */ "
        elif len(self.out) == 1:
            scope.over = words
            self.out[0] = f"/** @file {words} */" + self.out[0]
        elif scope.slot is None:
            scope.run = "" if words.startswith("---") else words

    def macro(self, scope, text):
        self.out.append(text)
        m = DEFINE.match(text)
        if m is None or (not m[2].strip() and m[1].endswith("_H")):
            return
        behind = re.search(r"/\*(?:(?!\*/).)*\*/\s*$|//[^\n]*$", m[2], re.S)
        words = plain(behind[0].strip()) if behind else scope.run
        if m[1].startswith("CD__") or re.search(rf"^#undef {m[1]}$|^#include .*[.]def", self.text, re.M):
            words = words or "Of this header alone."
        if words:
            self.macros.append(f"/** @def {m[1]}\n{words} */")

    def code(self, scope, text):
        if text == "}" and len(self.scopes) > 1:
            if scope.slot is not None:
                self.ended(scope)  # the last constant of an enum
            self.scopes.pop()
            self.out.append(text)
            outer = self.scopes[-1]
            if scope.kind == "body" and outer.kind != "body" and "=" not in outer.code:
                self.ended(outer)
                outer.was_inline = True
            return
        if scope.kind != "body" and scope.slot is None and text not in ";,":
            scope.slot, scope.more, scope.code, scope.last, scope.behind = len(self.out), [], "", None, ""
            self.out.append("")
        scope.code += text
        self.out.append(text)
        if text == "{":
            kind = brace_kind(scope.code[:-1].strip()) if scope.kind != "body" else "body"
            over = scope.behind or scope.run or (scope.over if scope.kind == "struct" else "")
            named = re.match(r"struct (\w+)", scope.code)
            over = over or self.opaque.get(named and named[1], "")
            if kind != "body":
                self.say(scope)
            self.scopes.append(Scope(kind, over))
        elif scope.slot is not None and scope.code.count("(") == scope.code.count(")"):
            if text == ";" or (text == "," and scope.kind == "enum"):
                self.ended(scope)
                if "{" in scope.code and not re.search(r"\bcd_|\b_", scope.run):
                    scope.run = ""  # said of the type, and not of functions behind it
            elif text == "," and (scope.kind == "struct" or scope.code.startswith("extern")):
                scope.more.append(len(self.out))
                self.out.append("")

    def say(self, scope):
        words = scope.behind or scope.run
        opaque = OPAQUE.match(re.sub(r"\s+", " ", scope.code)) if scope.kind == "file" else None
        if opaque:
            self.opaque[opaque[1]] = words
        if not words and (scope.kind != "file" or opaque):
            words = scope.over if scope.kind == "file" else scope.over and "See the type."
        for slot in (scope.slot, *scope.more):
            self.out[slot] = f"/** {words} */ " if words else ""

    def ended(self, scope):
        self.say(scope)
        scope.last, scope.slot, scope.was_inline = scope.slot, None, False


def for_doxygen(text):
    return Filter(text).filtered()

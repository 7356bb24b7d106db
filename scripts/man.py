#!/usr/bin/env python3
"""Writes man pages from what `dunlin --help` and `dunlin VERB --help` say.

    scripts/man.py target/release/dunlin DIRECTORY

One page for the program and one for each verb; the verbs of a verb (`keyspace create`) are
sections of its page. Lists of options become lists, and examples stay as they are, line by line.
"""
import pathlib
import re
import subprocess
import sys

LISTS = ("Arguments", "Options", "Commands")


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    # A dot at the beginning of a line would be a request.
    return "\\&" + text if text.startswith(".") else text


def entries(lines):
    """The entries of a list: `  --flag <X>  text`, or the text in further lines, deeper."""
    found = []
    for line in lines:
        head = re.match(r" {2,6}(\S.*?)(?: {2,}(\S.*))?$", line)
        if head:
            found.append((head[1], [head[2]] if head[2] else []))
        else:
            found[-1][1].append(line.strip())
    for name, text in found:
        yield ".TP\n.B " + escape(name)
        yield from paragraphs(text)


def paragraphs(text):
    """Text of an entry; each of a choice of values is a line of its own."""
    while text and not text[-1]:
        text = text[:-1]
    for line in text:
        if not line:
            yield ".sp"
        elif line.startswith("- "):
            yield ".br\n" + escape(re.sub(": +", ": ", line[2:], count=1))
        else:
            yield escape(line)


def prose(lines):
    """Text as it is; what is indented is an example, and its lines stay lines."""
    block = False
    for line in lines:
        indented = line.startswith(" ")
        if indented != block and line:
            yield ".PP\n.RS 2\n.nf" if indented else ".fi\n.RE\n.PP"
            block = indented
        yield escape(line) if line else (".sp" if block else ".PP")
    if block:
        yield ".fi\n.RE"


def sections(lines):
    """(title, lines) of each part of a help text; what stands before any title has none."""
    title, body = None, []
    for line in lines:
        head = re.match(r"(\S.*):$", line)
        if head:
            yield title, body
            title, body = head[1], []
        elif title and line and not line.startswith(" "):
            # Prose again, after a list or examples.
            yield title, body
            title, body = None, [line]
        else:
            body.append(line)
    yield title, body


def trimmed(lines):
    return "\n".join(lines).strip("\n").split("\n")


class Help:
    """What one verb says of itself."""

    def __init__(self, program, verb):
        self.verb = verb
        done = subprocess.run([program, *verb, "--help"], check=True, capture_output=True, text=True)
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        usage = next(i for i, line in enumerate(lines) if line.startswith("Usage: "))
        self.about = " ".join(trimmed(lines[:usage])[0].split())
        self.intro = trimmed(lines[1:usage])
        self.usage = lines[usage].removeprefix("Usage: ")
        self.sections = [(t, trimmed(b)) for t, b in sections(lines[usage + 1 :]) if any(b)]

    def verbs(self):
        for title, body in self.sections:
            if title == "Commands":
                names = (re.match(r" {2}(\S+)", line) for line in body)
                return [n[1] for n in names if n and n[1] != "help"]
        return []

    def body(self, heading):
        for title, body in self.sections:
            if title:
                yield f"{heading} {escape(title if heading == '.SS' else title.upper())}"
            else:
                yield ".PP"
            yield from entries(body) if title in LISTS else prose(body)


def page(program, top, version):
    name = "-".join(["dunlin", *top.verb])
    yield f'.\\" Made by scripts/man.py from the help of the program.\n.TH {name.upper()} 1 "" "{version}" "Dunlin"'
    yield f".SH NAME\n{name} \\- {escape(top.about)}\n.SH SYNOPSIS\n.B {escape(top.usage)}"
    if any(top.intro):
        yield ".SH DESCRIPTION"
        yield from prose(top.intro)
    yield from top.body(".SH")
    nested = [Help(program, [*top.verb, verb]) for verb in top.verbs()] if top.verb else []
    for part in nested:
        yield f".SH {escape(' '.join(part.verb).upper())}\n{escape(part.about)}\n.PP\n.B {escape(part.usage)}"
        yield from prose(part.intro)
        yield from part.body(".SS")
    yield ".SH SEE ALSO"
    if top.verb:
        yield ".BR dunlin (1)"
    else:
        yield ",\n".join(f".BR dunlin\\-{verb} (1)" for verb in top.verbs())
    yield ".PP\n/usr/share/doc/dunlin"


def main(program, directory):
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    top = Help(program, [])
    for part in [top, *(Help(program, [verb]) for verb in top.verbs())]:
        target = pathlib.Path(directory, "-".join(["dunlin", *part.verb]) + ".1")
        target.write_text("\n".join(page(program, part, version)) + "\n")


main(*sys.argv[1:])

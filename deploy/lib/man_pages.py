# SPDX-License-Identifier: Apache-2.0
"""Writes the man pages of the programs and of every verb, by help2man from --help: man_pages.py BFLY DAEMON...

`bfly circuit setup` has the page bfly-circuit-setup(1). The pages go where meson installs.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def help_of(words):
    return subprocess.run([*words, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout


def verbs(words):
    """The program and every verb below it, each with its help."""
    text = help_of(words)
    yield words, text
    below = text.partition("Subcommands:\n")[2].split("\n\n")[0]
    for name in re.findall(r"^  (\w\S*)", below, re.M):
        yield from verbs([*words, name])


def page(words, text, section, folder):
    """help2man wants a program of the page's name: a script that prints the verb's help."""
    name = "-".join([pathlib.Path(words[0]).name, *words[1:]])
    spoken = " ".join([pathlib.Path(words[0]).name, *words[1:]])
    # One paragraph a line, so that examples stay apart; names of options as in the manuals of other programs.
    text = re.sub(r"^(  -\w),(--)", r"\1, \2", text, flags=re.M)
    example = text.partition("Example:\n")[2].split("\n\n")[0]
    with tempfile.TemporaryDirectory() as temporary:
        script, told, more = (pathlib.Path(temporary, part) for part in (name, "help", "more"))
        told.write_text(text.replace(f"Example:\n{example}\n\n", "").replace(f"Usage: {spoken}", f"Usage: {name}"))
        lines = "\n".join(line.strip().replace("\\", "\\e") for line in example.splitlines())
        others = "" if len(words) == 1 else f"[SEE ALSO]\n.BR {pathlib.Path(words[0]).name} ({section})\n"
        more.write_text(f"[EXAMPLES]\n.nf\n{lines}\n.fi\n{others}" if example else others or "[FILES]\n.I /run/bfly\n")
        script.write_text(f"#!/bin/sh\nexec cat {told}\n")
        script.chmod(0o755)
        version = subprocess.run([words[0], "--version"], capture_output=True, text=True, check=True, timeout=60).stdout.split()[-1]
        what = next(line for line in text.splitlines() if line.strip())
        made = subprocess.run(["help2man", "--no-info", f"--section={section}", f"--name={what}", f"--version-string={version}",
                               "--source=bfly", f"--include={more}", script], capture_output=True, text=True, timeout=60,
                              check=True, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
    # A verb is written as it is typed.
    made = made.replace(f".B {name}\n", f".B {spoken}\n")
    (folder / f"man{section}" / f"{name}.{section}").write_text(made)


def main():
    # meson names programs from the build tree on.
    bfly, *daemons = (str(pathlib.Path(os.environ["MESON_BUILD_ROOT"], name).resolve()) for name in sys.argv[1:])
    folder = pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"], "share/man")
    for section in (1, 8):
        (folder / f"man{section}").mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pages = [(words, text, 1) for words, text in verbs([bfly])]
        pages += [([daemon], help_of([daemon]), 8) for daemon in daemons]
        list(pool.map(lambda one: page(*one, folder), pages))


main()

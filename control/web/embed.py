# SPDX-License-Identifier: Apache-2.0
"""Writes the files of the page as one C++ source file: embed.py SOURCE FILE..."""
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml"}
# Compilers take string literals of 64 KiB at least; adjacent ones are one.
PART = 8192

entries = []
for path in map(pathlib.Path, sys.argv[2:]):
    text = path.read_text(encoding="ascii")
    parts = "\n".join(f'R"page({text[at:at + PART]})page"' for at in range(0, len(text), PART))
    where = "/" if path.name == "index.html" else f"/{path.name}"
    entries.append(f'    {{"{where}", "{TYPES[path.suffix]}",\n{parts}}},\n')
pathlib.Path(sys.argv[1]).write_text(
    '#include "control/web/page_files.h"\n\nnamespace bfly::control {\nnamespace {\n\n'
    "constexpr PageFile kPageFiles[] = {\n" + "".join(entries) + "};\n\n}  // namespace\n\n"
    "const PageFile* FindPageFile(std::string_view path) {\n"
    "  for (const PageFile& file : kPageFiles) {\n    if (file.path == path) return &file;\n  }\n  return nullptr;\n}\n\n"
    "}  // namespace bfly::control\n", encoding="ascii")

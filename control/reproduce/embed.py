# SPDX-License-Identifier: Apache-2.0
"""Writes a text file as a header with one C string: embed.py FILE HEADER NAME."""
import pathlib
import sys

text, header, name = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
header.write_text(f'#pragma once\ninline constexpr char {name}[] = R"template({text.read_text()})template";\n')

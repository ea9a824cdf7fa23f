# SPDX-License-Identifier: Apache-2.0
"""What a build tree compiles, as meson tells it: the same for plain and for unity builds."""

import json
import pathlib
import re
import subprocess


def targets(tree):
    """(name, words of the compiler's command, source files) of every group of files compiled alike."""
    told = subprocess.run(["meson", "introspect", tree, "--targets"], capture_output=True, text=True, check=True)
    for target in json.loads(told.stdout):
        if target["type"] == "custom":
            continue  # its command is no compiler's
        for group in target["target_sources"]:
            if "sources" not in group or not group.get("compiler"):
                continue
            sources = {pathlib.Path(file) for file in group["sources"]}
            for generated in map(pathlib.Path, group.get("generated_sources", [])):
                # A unity build's own files consist of one #include for each source file.
                if re.search(r"-unity\d+\.cpp$", generated.name) and generated.exists():
                    sources |= {(generated.parent / name) for name in
                                re.findall(r'(?m)^#include\s*[<"](.+?)[>"]', generated.read_text())}
            yield target["name"], [*group["compiler"], *group["parameters"]], sorted(s.resolve() for s in sources)

# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: what deploy/package makes of the build tree is complete, and runs from where it was unpacked."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from lab import BUILD, PATIENCE, ROOT

DAEMONS = ("bfly-controller", "bfly-dataplane", "bfly-exporter")
PROGRAMS = ("bfly", *DAEMONS)
# What maintainer scripts may use: Debian has these packages everywhere, and these are their libraries.
ESSENTIAL = ("coreutils", "dash", "findutils", "init-system-helpers", "perl-base", "libacl1", "libattr1", "libc6", "libcrypt1", "libgmp10",
             "libpcre2-8-0", "libselinux1")
# In place of systemd: three units run, of which the last is another installation's. It notes what it was told to do, and
# whether the units of the package were there.
SYSTEMCTL = """#!/bin/sh
case "$1 $5" in
  "list-units "*) for unit in bfly-controller bfly-dataplane@dp0 bfly-dataplane@dp9; do echo "$unit.service loaded active running"; done; exit ;;
  "show bfly-dataplane@dp9.service") echo /usr/local/lib/systemd/system/bfly-dataplane@.service; exit ;;
  "show "*) echo /lib/systemd/system/of-the-package.service; exit ;;
esac
units=no
[ ! -e /usr/lib/systemd/system/bfly-controller.service ] || units=yes
echo "$* units=$units" >>/calls
case "$*" in *is-active*) [ -e /units-run ] ;; esac
"""
ASKS_WHETHER_UNITS_RUN = "--quiet is-active bfly-controller.service bfly-dataplane@*.service units=yes"


def run(*words, env=None, cwd=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=8 * PATIENCE, check=False, env=env, cwd=cwd)
    if done.returncode:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def verbs(program, words=()):
    """Every verb as the words that name it, found in the helps."""
    yield words
    for name in re.findall(r"^  (\w\S*)", run(program, *words, "--help").partition("Subcommands:\n")[2].split("\n\n")[0], re.M):
        yield from verbs(program, (*words, name))


def base_system(root):
    """A root in which dpkg can run maintainer scripts, with the files of this machine's own packages."""
    for name in ("info", "updates", "triggers"):
        (root / "var/lib/dpkg" / name).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in run("dpkg-query", "-L", *ESSENTIAL).split("\n"):
        path = pathlib.Path(name)
        if path.is_file() and "/share/" not in name:
            copy = root / path.parent.resolve().relative_to("/") / path.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy, follow_symlinks=False)
    (root / "dev").mkdir()
    (root / "dev/null").touch()
    (root / "usr/bin/systemctl").write_text(SYSTEMCTL)
    (root / "usr/bin/systemctl").chmod(0o755)
    return root


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="bfly-packages-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        # lintian looks at them: an error or a warning of it fails.
        (cls.directory / "out").mkdir()
        cls.foreign = cls.directory / "out/other_1.0_all.deb"
        cls.foreign.write_text("of somebody else")
        # Relative paths mean the directory of the caller.
        run(ROOT / "deploy/package", "--out", "out", cwd=cls.directory,
            env={**os.environ, "BFLY_BUILD": os.path.relpath(BUILD.resolve(), cls.directory)})
        cls.packages = {path.name.split("_")[0]: path for path in (cls.directory / "out").glob("*.deb") if path != cls.foreign}
        # dpkg itself unpacks them into an empty root: no file of one package is a file of another.
        cls.root = cls.directory / "root"
        for name in ("info", "updates", "triggers"):
            (cls.root / "var/lib/dpkg" / name).mkdir(parents=True)
        (cls.root / "var/lib/dpkg/status").touch()
        run("dpkg", f"--root={cls.root}", "--force-depends", "--unpack", *cls.packages.values())

    def test_there_are_three(self):
        self.assertEqual(self.foreign.read_text(), "of somebody else")
        self.assertEqual(set(self.packages), {"bfly", "bfly-doc", "python3-bfly"})
        version = re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text())[1]
        for name, path in self.packages.items():
            self.assertEqual(run("dpkg-deb", "-f", path, "Version").strip(), version, name)

    def test_the_programs_run_from_there(self):
        bfly = self.root / "usr/bin/bfly"
        self.assertIn("Subcommands:", run(bfly, "--help"))
        told = json.loads(run(bfly, "describe", self.root / "usr/share/bfly/topologies/examples/bb8.yaml", "--json"))
        self.assertEqual((told["rows"], told["kind"]), (8, "two_fold_butterfly"))
        for program in PROGRAMS:
            self.assertIn("--help", run(self.root / "usr/bin" / program, "--help"))

    def test_it_depends_on_every_library_that_it_needs(self):
        depends = set(re.findall(r"[\w.+-]+", re.sub(r"\(.*?\)", "", run("dpkg-deb", "-f", self.packages["bfly"], "Depends"))))
        seen = set()
        for program in PROGRAMS:
            resolved = dict(re.findall(r"(\S+) => (\S+)", run("ldd", self.root / "usr/bin" / program)))
            for library in re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", self.root / "usr/bin" / program)):
                if library.startswith("ld-linux"):
                    continue  # comes with the C library
                # dpkg knows a file of /usr/lib by that name or as /lib.
                path = os.path.realpath(resolved[library])
                owner = subprocess.run(["dpkg", "-S", path, path.removeprefix("/usr")], capture_output=True, text=True,
                                       check=False).stdout.split(":")[0]
                self.assertIn(owner, depends, f"{program} needs {library}")
                seen.add(library)
        self.assertGreater(len(seen), 15)
        # DPDK loads these for the pools of ports, and no program is linked to them.
        self.assertLessEqual({"librte-mempool-ring23", "librte-mempool-stack23"}, depends)

    def test_every_verb_has_a_man_page(self):
        pages = {path.name for path in (self.root / "usr/share/man").rglob("*.gz")}
        wanted = {"-".join(["bfly", *words]) + ".1.gz" for words in verbs(self.root / "usr/bin/bfly")}
        self.assertGreater(len(wanted), 40)
        self.assertEqual(pages, wanted | {f"{daemon}.8.gz" for daemon in DAEMONS})
        page = run("zcat", self.root / "usr/share/man/man1/bfly-circuit-setup.1.gz")
        for part in (".SH NAME", "bfly-circuit-setup \\- Set up one circuit", r"\fB\-\-protocol\fR", "bfly circuit setup 3 12"):
            self.assertIn(part, page)

    def test_the_units_start_the_installed_programs(self):
        units = list((self.root / "usr/lib/systemd/system").iterdir())
        self.assertGreaterEqual(len(units), 2)
        for unit in units:
            program = re.search(r"^ExecStart=(\S+)", unit.read_text(), re.M)[1]
            self.assertTrue((self.root / program.lstrip("/")).is_file(), f"{unit.name}: {program}")

    def machine(self, *, systemd_runs):
        """A root with the package bfly, whose controller and two data planes are enabled and have kept something."""
        root = base_system(pathlib.Path(tempfile.mkdtemp(dir=self.directory)))
        if systemd_runs:
            (root / "run/systemd/system").mkdir(parents=True)
        self.dpkg(root, "--install", self.packages["bfly"])
        run("systemctl", f"--root={root}", "enable", "bfly-controller", "bfly-dataplane@dp0", "bfly-dataplane@dp1")
        wants = root / "etc/systemd/system/multi-user.target.wants"
        (wants / "other.service").symlink_to("/usr/lib/systemd/system/other.service")
        (wants / "bfly-dataplane@dp9.service").symlink_to("/usr/local/lib/systemd/system/bfly-dataplane@.service")
        self.assertEqual(len(list(wants.iterdir())), 5)
        for name in ("var/lib/bfly/intent.db", "run/bfly/controller.sock", "etc/default/bfly"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        return root

    @staticmethod
    def dpkg(root, *words):
        """What systemctl was called with while dpkg did this."""
        (root / "calls").write_text("")
        run("dpkg", f"--root={root}", "--force-depends", *words)
        return (root / "calls").read_text().splitlines()

    def enabled(self, root):
        return sorted(path.name for path in (root / "etc/systemd/system/multi-user.target.wants").iterdir())

    def test_installing_and_upgrading_start_enable_and_stop_nothing(self):
        root = self.machine(systemd_runs=True)
        self.assertEqual(self.dpkg(root, "--install", self.packages["bfly"]), ["--system daemon-reload units=yes", ASKS_WHETHER_UNITS_RUN])
        self.assertEqual(self.enabled(root), ["bfly-controller.service", "bfly-dataplane@dp0.service", "bfly-dataplane@dp1.service",
                                              "bfly-dataplane@dp9.service", "other.service"])
        fresh = base_system(self.directory / "fresh")
        (fresh / "run/systemd/system").mkdir(parents=True)
        self.assertEqual(self.dpkg(fresh, "--install", self.packages["bfly"]), ["--system daemon-reload units=yes"])
        self.assertFalse((fresh / "etc/systemd").exists())

    def test_an_upgrade_says_how_to_restart_the_units_that_run(self):
        restart = "sudo systemctl try-restart 'bfly-dataplane@*' bfly-controller"
        root = self.machine(systemd_runs=True)
        again = ("dpkg", f"--root={root}", "--force-depends", "--install", self.packages["bfly"])
        self.assertNotIn(restart, run(*again))
        (root / "units-run").touch()
        self.assertIn(restart, run(*again))
        # The document has the command too, behind that which installs and before that which loads.
        commands = [line.split("    #")[0] for line in (ROOT / "docs/upgrade.md").read_text().splitlines()]
        install, load = (next(i for i, line in enumerate(commands) if line.startswith(word)) for word in ("sudo apt install", "bfly up"))
        self.assertIn(restart, commands[install:load])

    def test_removing_stops_and_disables_every_unit_of_its_own_and_purging_forgets_what_they_kept(self):
        root = self.machine(systemd_runs=True)
        self.assertEqual(self.dpkg(root, "--remove", "bfly"),
                         ["stop bfly-controller.service units=yes", "stop bfly-dataplane@dp0.service units=yes",
                          "--system daemon-reload units=no"])
        self.assertEqual(self.enabled(root), ["bfly-dataplane@dp9.service", "other.service"])
        self.assertTrue((root / "var/lib/bfly/intent.db").exists())
        self.assertEqual(self.dpkg(root, "--purge", "bfly"), [])
        left = {path.relative_to(root).parts[0] + "/" + path.name for path in root.rglob("*bfly*")}
        self.assertEqual(left, {"etc/bfly", "etc/bfly-dataplane@dp9.service"})  # of the administrator

    def test_removing_disables_the_units_where_systemd_does_not_run(self):
        root = self.machine(systemd_runs=False)
        self.assertEqual(self.dpkg(root, "--purge", "bfly"), [])
        self.assertEqual(self.enabled(root), ["bfly-dataplane@dp9.service", "other.service"])

    def test_purging_leaves_the_run_directory_of_a_fabric_that_no_unit_runs(self):
        root = self.machine(systemd_runs=True)
        (root / "run/bfly/dp0.pid").write_text(f"{os.getpid()} 1\n")
        self.dpkg(root, "--purge", "bfly")
        self.assertTrue((root / "run/bfly/controller.sock").exists())
        self.assertFalse((root / "var/lib/bfly").exists())

    def test_python_imports_it(self):
        packages = self.root / "usr/lib/python3/dist-packages"
        said = run(sys.executable, "-c", "import bfly; print(bfly.__file__, bfly.set_up(1, 2).output)",
                   env={**os.environ, "PYTHONPATH": str(packages)})
        self.assertEqual(said.split(), [str(packages / "bfly/__init__.py"), "2"])
        for script in ("postinst", "prerm"):
            self.assertTrue(os.access(self.root / f"var/lib/dpkg/info/python3-bfly.{script}", os.X_OK))

    def test_the_rest_is_where_debian_has_it(self):
        share = self.root / "usr/share"
        for name in ("bash-completion/completions/bfly", "zsh/vendor-completions/_bfly", "fish/vendor_completions.d/bfly.fish",
                     "bfly/proto/bfly/v1/fabric.proto", "bfly/proto/google/rpc/status.proto", "bfly/topology.schema.json",
                     "bfly/topologies/reproduction.yaml", "doc/bfly/docs/examples/controller.py", "doc/bfly/README.md"):
            self.assertTrue((share / name).is_file(), name)
        # Links between the documents lead somewhere; what is only in the sources is named as text.
        count = 0
        for document in [share / "doc/bfly/README.md", *(share / "doc/bfly/docs").rglob("*.md")]:
            for target in re.findall(r"\]\((?!\w+:)([^)#\s]+)", document.read_text()):
                if not re.search(r"tests/|control/|dataplane/|deploy/|LICENSE|CONTRIBUTING", target):
                    self.assertTrue((document.parent / target).exists(), f"{document.name}: {target}")
                    count += 1
        self.assertGreater(count, 100)


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""deploy/install puts everything below its prefix, and takes everything away again."""
import pathlib
import re
import shutil
import signal
import tempfile
import unittest

from lab import BUILD, PATIENCE, ROOT, require_root, wait_until
from packages_test import run
from terminal import Terminal

# In place of systemd: three units run, of which the last is another installation's.
SYSTEMCTL_OF_INSTALL = """#!/bin/sh
case $1 in
  list-units) for unit in bfly-controller bfly-dataplane@dp0 bfly-dataplane@dp9; do echo "$unit.service loaded active running"; done ;;
  show) cat "DIRECTORY/fragments/$5" ;;
  *) echo "$*" >>DIRECTORY/calls ;;
esac
"""


class InstallTest(unittest.TestCase):
    """deploy/install of a copy of the scripts: in place of meson and ninja stands what meson installed of the build tree."""

    @classmethod
    def setUpClass(cls):
        require_root()
        destination = pathlib.Path(tempfile.mkdtemp(prefix="bfly-image-"))
        cls.addClassCleanup(shutil.rmtree, destination)
        destination.chmod(0o755)
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", destination)
        cls.image = next(destination.rglob("bin/bfly")).parents[1]

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="bfly-install-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.directory.chmod(0o755)
        self.prefix = self.directory / "home/bfly"
        for name in ("tree/deploy", "tree/build", "bin", "home", "etc/system/multi-user.target.wants", "run/systemd/system",
                     "wireshark/plugins", "fragments"):
            (self.directory / name).mkdir(parents=True)
        (self.directory / "home").chmod(0o777)
        shutil.copy2(ROOT / "deploy/install", self.directory / "tree/deploy")
        (self.directory / "tree/deploy/packages.txt").touch()
        (self.directory / "tree/build/build.ninja").touch()
        (self.directory / "wireshark/plugins/bfly.lua").write_text("of another prefix")
        for name, text in (("ninja", "#!/bin/sh\n"), ("systemctl", SYSTEMCTL_OF_INSTALL.replace("DIRECTORY", str(self.directory))),
                           ("meson", f'#!/bin/sh\n[ "$1" != install ] || {{ mkdir -p "$PREFIX" && cp -r {self.image}/. "$PREFIX"; }}\n')):
            (self.directory / "bin" / name).write_text(text)
            (self.directory / "bin" / name).chmod(0o755)
        self.units = self.prefix / "lib/systemd/system"
        self.runs("bfly-controller", "bfly-dataplane@dp0", "bfly-dataplane@dp9", folder="/usr/lib/systemd/system")

    def runs(self, *names, folder):
        """The units are enabled and run, from files of this folder."""
        for name in names:
            file = f"{folder}/{re.sub('@.*', '@', name)}.service"
            (self.directory / f"fragments/{name}.service").write_text(file + "\n")
            link = self.directory / f"etc/system/multi-user.target.wants/{name}.service"
            link.unlink(missing_ok=True)
            link.symlink_to(file)

    def install(self, *words, by=()):
        """In a mount namespace in which systemd seems to run, with a directory of units and one of Wireshark's of its own."""
        wireshark = next(pathlib.Path("/usr/lib").glob("*/wireshark"))
        binds = "".join(f"mount --bind {self.directory}/{ours} {theirs} && "
                        for ours, theirs in (("etc", "/etc/systemd"), ("run", "/run"), ("wireshark", wireshark)))
        return run("unshare", "--mount", "sh", "-c", binds + 'exec "$@"', "sh", *by, self.directory / "tree/deploy/install", *words,
                   env={"PATH": f"{self.directory}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PREFIX": str(self.prefix)})

    def left(self):
        return [str(path) for path in self.prefix.rglob("*") if not path.is_dir() or "bfly" in path.name]

    def test_a_user_installs_below_a_prefix_of_his_own_and_removes_it(self):
        nobody = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
        self.install(by=nobody)
        self.assertGreater(len(self.left()), 100)
        self.install("--uninstall", by=nobody)
        self.assertEqual(self.left(), [])
        self.assertTrue((self.directory / "wireshark/plugins/bfly.lua").exists())
        self.assertFalse((self.directory / "calls").exists())  # other installations' units run on
        # meson itself puts the dissector there too.
        project = self.directory / "home/project"
        shutil.copytree(ROOT / "deploy/wireshark", project / "wireshark")
        (project / "meson.build").write_text("project('dissector')\nsubdir('wireshark')\n")
        project.chmod(0o777)
        run(*nobody, "meson", "setup", f"--prefix={self.prefix}", project / "build", project)
        run(*nobody, "meson", "install", "-C", project / "build")
        self.assertEqual([pathlib.Path(path).name for path in self.left()], ["bfly.lua"])
        self.install("--uninstall", by=nobody)
        self.assertEqual(self.left(), [])

    def test_the_topologies_that_documents_name_come_with_them(self):
        documents = self.image / "share/doc/bfly"
        named = {path for document in documents.rglob("*.md")
                 for path in re.findall(r"\btopologies/[\w/-]+\.yaml", document.read_text())}
        self.assertIn("topologies/racks/rack.yaml", named)
        self.assertEqual([path for path in sorted(named) if not (documents / path).exists()], [])

    def test_removing_it_stops_and_disables_the_units_of_the_prefix_alone(self):
        calls = self.directory / "calls"
        self.assertNotIn("try-restart", self.install())
        self.assertEqual(calls.read_text(), "daemon-reload\n")
        self.runs("bfly-controller", "bfly-dataplane@dp0", folder=self.units)
        self.assertIn("  sudo systemctl try-restart bfly-controller.service bfly-dataplane@dp0.service\n", self.install())
        calls.unlink()
        self.install("--uninstall")
        self.assertEqual(calls.read_text().splitlines(),
                         ["stop bfly-controller.service", "stop bfly-dataplane@dp0.service", "daemon-reload"])
        wants = self.directory / "etc/system/multi-user.target.wants"
        self.assertEqual([path.name for path in wants.iterdir()], ["bfly-dataplane@dp9.service"])
        self.assertEqual(self.left(), [])

    def test_an_interrupt_ends_it_once_apt_has_ended_in_order(self):
        (self.directory / "tree/deploy/packages.txt").write_text("bfly-package-that-nobody-has\n")
        apt_get = self.directory / "bin/apt-get"
        apt_get.write_text(f'#!/bin/sh\necho begun >>{self.directory}/apt\nuntil [ -e {self.directory}/go ]; do sleep 0.05; done\n'
                           f'echo ended >>{self.directory}/apt\n')
        apt_get.chmod(0o755)
        terminal = Terminal([self.directory / "tree/deploy/install", "--packages"],
                            PATH=f"{self.directory}/bin:/usr/sbin:/usr/bin:/sbin:/bin", BFLY_APT_TIMEOUT=str(int(PATIENCE)))
        self.addCleanup(terminal.close)
        wait_until((self.directory / "apt").exists, "apt-get runs")
        terminal.press("\x03")
        terminal.until_text("^C")  # the terminal has sent the signal
        (self.directory / "go").touch()
        self.assertEqual(terminal.wait(), -signal.SIGINT)
        self.assertEqual((self.directory / "apt").read_text(), "begun\nended\n")
        self.assertIn("deploy/install: interrupted", "\n".join(terminal.text()))


if __name__ == "__main__":
    unittest.main(verbosity=2)

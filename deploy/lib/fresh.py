# SPDX-License-Identifier: Apache-2.0
"""Runs both commands of the README on a minimal Debian 12, makes packages there, and tries them on another one;
deploy/test --help says how to ask for it.

The root file system is what debootstrap calls minbase: the essential packages and apt. It is mounted in a mount
namespace of its own, as the root of all that runs in it, and with it go its processes and mounts, however this ends.
"""

import contextlib
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = "bookworm"
MIRROR = os.environ.get("BFLY_FRESH_MIRROR", "http://deb.debian.org/debian")
COMMANDS = os.environ.get("BFLY_FRESH_COMMANDS", "deploy/demo deploy/test deploy/package").split()
CACHE = os.environ.get("BFLY_FRESH_CCACHE", "")
# Seconds for each command.
DEADLINE = float(os.environ.get("BFLY_FRESH_TIMEOUT", 3 * 3600))
ENVIRONMENT = {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
               **{name: value for name, value in os.environ.items()
                  if name in ("TERM", "BFLY_JOBS", "BFLY_TEST_PATIENCE", "BFLY_APT_TIMEOUT", "http_proxy", "https_proxy")}}
MISSING = re.compile(r"([\w./+-]+): (?:command )?not found|No such file or directory: '([\w./+-]+)'"
                     r"|Program '?([\w./+-]+)'? (?:found: NO|not found)|[Dd]ependency \"?([\w./+-]+)\"? (?:found: NO|not found)")


def run(*words, **options):
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL, **options)


def make_root(root):
    run("debootstrap", "--variant=minbase", RELEASE, root, MIRROR, stdout=subprocess.DEVNULL)
    # Security updates and the way to the mirror as this machine has them.
    (root / "etc/apt/sources.list").write_text(
        f"deb {MIRROR} {RELEASE} main\ndeb {MIRROR} {RELEASE}-updates main\n"
        f"deb {MIRROR.removesuffix('/debian')}/debian-security {RELEASE}-security main\n")
    for name in ("resolv.conf", "hosts"):
        shutil.copy(pathlib.Path("/etc", name), root / "etc" / name)


def copy_checkout(root):
    shutil.copytree(ROOT, root / "bfly", symlinks=True, ignore=lambda folder, names: [
        name for name in names
        if name in (".git", "__pycache__") or (pathlib.Path(folder) == ROOT and name.startswith("build"))])


def mount(root):
    """Inside the namespace: mounts `root` on itself with what a machine has, and makes it the root."""
    run("mount", "--bind", root, root)
    for kind, place in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "run")):
        run("mount", "-t", kind, kind, root / place)
    # The devices of this machine; no change to a mount below /dev comes back to it.
    run("mount", "--rbind", "/dev", root / "dev")
    run("mount", "--make-rslave", root / "dev")
    for kind, place in (("bpf", "sys/fs/bpf"), ("hugetlbfs", "dev/hugepages")):
        # Nothing of it is needed where the kernel lacks it.
        with contextlib.suppress(subprocess.CalledProcessError):
            (root / place).mkdir(exist_ok=True)
            run("mount", "-t", kind, kind, root / place, stderr=subprocess.DEVNULL)
    if CACHE:
        (root / "ccache").mkdir()
        run("mount", "--bind", CACHE, root / "ccache")
        ENVIRONMENT.update(CCACHE_DIR="/ccache", CCACHE_BASEDIR="/bfly", CCACHE_NOHASHDIR="1")
    os.chdir(root)
    (root / "mnt/machine").mkdir()
    run("pivot_root", ".", "mnt/machine")
    os.chroot(".")
    os.chdir("/bfly")
    run("umount", "--lazy", "/mnt/machine")


def reap_until_end_of(pid):
    """A queue that gets the exit code of `pid`. This is the first process of its namespace, so orphans are its own."""
    ended = queue.Queue()

    def reap():
        while True:
            gone, status = os.wait()
            if gone == pid:
                ended.put(os.waitstatus_to_exitcode(status))
                return

    threading.Thread(target=reap, daemon=True).start()
    return ended


def run_inside(root):
    mount(root)
    wrong = 0
    for command in COMMANDS:
        started, missing = time.monotonic(), {}
        print(f"\n== on a minimal Debian: {command}", flush=True)
        process = subprocess.Popen(["timeout", "--kill-after=60", str(DEADLINE), *command.split(":")], env=ENVIRONMENT,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace")
        ended = reap_until_end_of(process.pid)
        for line in process.stdout:
            print(line, end="", flush=True)
            if found := MISSING.search(line):
                missing.setdefault(next(filter(None, found.groups())), line.strip())
        code = process.returncode = ended.get()
        print(f"{command} on a minimal Debian: exit {code} after {time.monotonic() - started:.0f} s")
        for name, line in missing.items() if code else ():
            print(f"  missing: {name}  ({line})")
        wrong += code != 0
    return 1 if wrong else 0


def made_root():
    root = pathlib.Path(tempfile.mkdtemp(prefix="bfly-fresh-", dir=os.environ.get("BFLY_FRESH_DIR", "/var/tmp")))
    root.chmod(0o755)
    return root


def start_inside(root, commands):
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                             "--kill-child=SIGKILL", sys.executable, __file__, "--inside", str(root)],
                            env={**os.environ, "BFLY_FRESH_COMMANDS": " ".join(commands)})


def on_signal(number, _frame):
    raise KeyboardInterrupt(number)


def main():
    if os.geteuid() != 0:
        sys.exit("deploy/test: the suite fresh mounts a root file system and needs root: run it with sudo")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    roots, code, inside = [], 1, None
    try:
        roots.append(made_root())
        make_root(roots[0])
        copy_checkout(roots[0])
        inside = start_inside(roots[0], COMMANDS)
        code = inside.wait()
        packages = roots[0] / "bfly/build/packages"
        if code == 0 and packages.exists():
            # Nothing of the build is there.
            roots.append(made_root())
            make_root(roots[1])
            shutil.copytree(packages, roots[1] / "bfly/packages")
            shutil.copy(ROOT / "deploy/lib/try-packages", roots[1] / "bfly")
            inside = start_inside(roots[1], ["/bfly/try-packages:/bfly/packages"])
            code = inside.wait()
    except KeyboardInterrupt:
        print("deploy/test: interrupted, taking the minimal Debian away", file=sys.stderr)
        code = 130
    except subprocess.CalledProcessError as error:
        print(f"deploy/test: {' '.join(error.cmd)}: exit {error.returncode}", file=sys.stderr)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if inside is not None and inside.poll() is None:
            inside.kill()
            inside.wait()
        # The mounts went with the namespace; --one-file-system would stop at one that did not.
        for root in roots:
            run("rm", "-rf", "--one-file-system", root)
    sys.exit(code)


if sys.argv[1:2] == ["--inside"]:
    sys.exit(run_inside(pathlib.Path(sys.argv[2])))
main()

# SPDX-License-Identifier: Apache-2.0
"""A virtual machine of its own for a test: Debian's kernel, an initramfs of busybox, some modules and
the programs asked for, and a shell that the test speaks to over the second serial line.

Software emulation only, so it needs nothing of the machine it runs on.
"""

import base64
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

# Order of loading; irqbypass and vfio come before what uses them.
VFIO_MODULES = ["irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci"]
# A TAP, and what its flow rules are made of.
TAP_MODULES = ["tun", "sch_multiq", "cls_flower", "act_skbedit"]
MODULES = VFIO_MODULES + TAP_MODULES
# Linux drives a virtio-net of its own with these.
VIRTIO_MODULES = ["virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
                  "failover", "net_failover", "virtio_net"]

INIT = """#!/bin/sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/hugepages /dev/shm /run /tmp
mount -t hugetlbfs none /dev/hugepages
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
for module in {modules}; do insmod /modules/$module.ko || echo "cannot load $module"; done
ip link set lo up
stty -F /dev/ttyS1 raw -echo
# Lines "N command": a shell that read the terminal itself would be an interactive one. The terminal is
# open before the first word out of it, since opening it drops what has come in.
exec </dev/ttyS1 >/dev/ttyS1 2>&1
echo guest-ready
while read -r number command; do
  (eval "$command") </dev/null
  printf '\\n==%s==%s=\\n' "$number" "$?"
done
"""


class GuestError(AssertionError):
    """The machine did not do what the test needs; the message ends with what it printed."""


class QemuCrashed(GuestError):
    """qemu itself ended by a signal of the kernel."""


def start(*args, **more):
    """A Guest. If qemu crashes while the machine starts, it is started once more, and the crash is printed: with
    many processors its emulation has races of its own. What happens later is for the test to see."""
    try:
        return Guest(*args, **more)
    except QemuCrashed as crash:
        print(f"qemu crashed while the machine started; once more\n{crash}", file=sys.stderr)
        return Guest(*args, **more)


def shared_libraries(paths):
    """Every shared library that the programs and plugins in `paths` load at their start."""
    found = set()
    for path in paths:
        out = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
        for line in out.splitlines():
            words = line.replace("=>", " ").split()
            if "not found" in line:
                raise GuestError(f"{path} needs {words[0]}, which this machine lacks")
            found.update(w for w in words if w.startswith("/"))
    return sorted(found)


def build_initramfs(directory, kernel_dir, files, busybox="/bin/busybox", modules=MODULES):
    """Writes directory/initramfs. The guest loads `modules`, in this order. `files` maps paths in the guest to files
    here; the shared libraries of all of them come along under the paths they have here."""
    root = os.path.join(directory, "root")
    placed = {"/bin/busybox": shutil.which("busybox") or busybox}
    placed.update({f"/modules/{m}.ko": os.path.join(kernel_dir, "modules", f"{m}.ko") for m in modules})
    placed.update(files)
    elf = [source for source in files.values() if is_elf(source)]
    placed.update({library: library for library in shared_libraries(elf)})
    for path, source in placed.items():
        place(root, path, source)
    for name in ("bin", "proc", "sys", "dev", "run", "tmp"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    os.symlink("busybox", os.path.join(root, "bin", "sh"))
    os.makedirs(os.path.join(root, "var"), exist_ok=True)
    os.symlink("/run", os.path.join(root, "var", "run"))
    with open(os.path.join(root, "init"), "w", encoding="ascii") as init:
        init.write(INIT.format(modules=" ".join(modules)))
    os.chmod(os.path.join(root, "init"), 0o755)

    image = os.path.join(directory, "initramfs")
    names = subprocess.run(["find", ".", "-print0"], cwd=root, check=True, capture_output=True).stdout
    with open(image, "wb") as out:
        subprocess.run(["cpio", "-0", "-o", "-H", "newc", "--quiet"], cwd=root, input=names, stdout=out, check=True)
    shutil.rmtree(root)
    return image


def place(root, path, source):
    """Copies a file to root/path. A link stays one, so that a library under two names is loaded once."""
    real = os.path.realpath(source)
    target = root + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if path == source and real != source:
        if not os.path.lexists(target):
            os.symlink(real, target)
        target = root + real
        os.makedirs(os.path.dirname(target), exist_ok=True)
    if not os.path.exists(target):
        shutil.copy(real, target)


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


class Guest:
    """One run of qemu, killed by its pid at the latest when `lifetime` seconds have gone by."""

    def __init__(self, directory, kernel_dir, initramfs, devices, append="", memory_mb=1024, cpus=2, lifetime=700, iommu=True):
        self.deadline = time.monotonic() + lifetime
        self.console_path = os.path.join(directory, "console.log")
        shell_path = os.path.join(directory, "shell.sock")
        self.qmp_path = os.path.join(directory, "qmp.sock")
        command = [
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(cpus), "-m", str(memory_mb),
            "-machine", "q35",
            *(["-device", "intel-iommu,intremap=on,aw-bits=48"] if iommu else []),
            "-kernel", os.path.join(kernel_dir, "vmlinuz"), "-initrd", initramfs,
            "-append", f"console=ttyS0 quiet panic=-1 intel_iommu=on iommu=nopt no_timer_check nowatchdog {append}",
            "-serial", f"file:{self.console_path}",
            "-chardev", f"socket,id=shell,path={shell_path},server=on,wait=off", "-serial", "chardev:shell",
            "-qmp", f"unix:{self.qmp_path},server=on,wait=off",
            *devices,
        ]
        self.log = open(os.path.join(directory, "qemu.log"), "w+", encoding="utf-8")
        started = time.monotonic()
        self.qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.shell = socket.socket(socket.AF_UNIX)
        self.heard = b""
        self.commands = 0
        try:
            self.connect(shell_path)
            if not self.hear(re.compile(b"guest-ready\n"), self.deadline - time.monotonic()):
                self.fail("the machine did not come up")
            self.boot_seconds = time.monotonic() - started
        except BaseException:
            self.close()
            raise

    def connect(self, path):
        while True:
            try:
                self.shell.connect(path)
                return
            except (FileNotFoundError, ConnectionRefusedError):
                if self.qemu.poll() is not None:
                    self.fail("qemu ended at its start")
                self.require_time("qemu's start")
                time.sleep(0.02)

    def hear(self, wanted, seconds):
        """Reads until the expression `wanted` matches; true if that was in time."""
        end = time.monotonic() + seconds
        while not wanted.search(self.heard):
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.shell.settimeout(left)
            try:
                chunk = self.shell.recv(65536)
            except TimeoutError:
                return False
            if not chunk:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.qemu.wait(5)
                self.fail("the machine ended")
            self.heard += chunk
        return True

    def run(self, command, timeout=60):
        """Runs one line of shell in the guest and returns (exit status, output)."""
        self.commands += 1
        end = re.compile(rf"\n=={self.commands}==(\d+)=\n".encode())
        self.heard = b""
        self.shell.sendall(f"{self.commands} {command}\n".encode())
        if not self.hear(end, min(timeout, self.deadline - time.monotonic())):
            self.fail(f"no end of '{command}' after {timeout} s")
        found = end.search(self.heard)
        return int(found[1]), self.heard[:found.start()].decode(errors="replace").strip("\n")

    def check(self, command, timeout=60):
        status, output = self.run(command, timeout)
        if status != 0:
            self.fail(f"'{command}' ended with {status}:\n{output}")
        return output

    def wait_for(self, command, seconds, what):
        """Repeats a shell command until it succeeds."""
        end = min(time.monotonic() + seconds, self.deadline)
        while True:
            status, output = self.run(command)
            if status == 0:
                return output
            if time.monotonic() > end:
                self.fail(f"waited {seconds} s for {what}; last said: {output}")
            time.sleep(0.1)

    def write_file(self, path, text):
        self.check(f"echo {base64.b64encode(text.encode()).decode()} | base64 -d >{path}")

    def pci_addresses(self):
        """{(vendor, device): [address, ...]} of the guest's PCI functions."""
        found = {}
        for line in self.check("cd /sys/bus/pci/devices; for d in *; do echo $d $(cat $d/vendor $d/device); done").splitlines():
            address, vendor, device = line.split()
            found.setdefault((int(vendor, 16), int(device, 16)), []).append(address)
        return found

    def bind_to_vfio(self, address):
        self.check(f"echo vfio-pci >/sys/bus/pci/devices/{address}/driver_override && "
                   f"echo {address} >/sys/bus/pci/drivers_probe && [ -e /sys/bus/pci/drivers/vfio-pci/{address} ]")

    def ask_qemu(self, command, **arguments):
        """Asks qemu itself, not the guest, over its machine protocol."""
        with socket.socket(socket.AF_UNIX) as qmp:
            qmp.settimeout(10)
            qmp.connect(self.qmp_path)
            with qmp.makefile("rw", encoding="utf-8") as stream:
                stream.readline()  # the greeting
                for request in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                    stream.write(json.dumps(request) + "\n")
                    stream.flush()
                    answer = json.loads(stream.readline())
                    while "event" in answer:
                        answer = json.loads(stream.readline())
        if "error" in answer:
            self.fail(f"qemu refused {command}: {answer['error']}")
        return answer["return"]

    def require_time(self, what):
        if time.monotonic() > self.deadline:
            self.fail(f"{what} took too long")

    def fail(self, message):
        with open(self.console_path, encoding="utf-8", errors="replace") as console:
            printed = console.read()[-3000:]
        self.log.seek(0)
        heard = self.heard.decode(errors="replace")[-3000:]
        crashed = self.qemu.poll() in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL)
        error = QemuCrashed if crashed else GuestError
        raise error(f"{message}\n--- qemu:\n{self.log.read()[-2000:]}\n--- console:\n{printed}\n--- shell:\n{heard}")

    def close(self):
        """Ends the machine, by force if it has to."""
        try:
            self.shell.sendall(b"0 poweroff -f\n")
            self.qemu.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.qemu.kill()
            self.qemu.wait()
        self.shell.close()
        self.log.close()

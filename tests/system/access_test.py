# SPDX-License-Identifier: Apache-2.0
"""Tries every door of a controller and a data plane, with and without the key."""

import json
import os
import pathlib
import socket
import ssl
import subprocess
import unittest

import fabric
import lab

# Makes a call as another user or with other files: CALLER.py METHOD ADDRESS [CA [CERTIFICATE KEY]]
CALLER = """
import sys
import grpc
method, address = sys.argv[1:3]
files = [open(path, "rb").read() for path in sys.argv[3:]]
if not files:
    channel = grpc.insecure_channel(address)
else:
    channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(files[0], *reversed(files[1:])))
try:
    if method.endswith("Arbitrate"):
        # ArbitrateRequest{election_id: 5}
        next(iter(channel.stream_stream(method)(iter([b"\\x08\\x05"]), timeout=20, wait_for_ready=False)))
    else:
        channel.unary_unary(method)(b"", timeout=20)
    print("OK")
except grpc.RpcError as error:
    print(error.code().name, error.details())
"""
# Makes a call again and again over one connection, and counts the answers: MANY.py METHOD ADDRESS COUNT.
MANY = """
import collections, sys
import grpc
method, address, count = sys.argv[1:]
call = grpc.insecure_channel(address).unary_unary(method)
said, answers = "", collections.Counter()
for _ in range(int(count)):
    try:
        call(b"", timeout=20)
        answers["OK"] += 1
    except grpc.RpcError as error:
        answers[error.code().name] += 1
        said = error.details()
print(dict(answers), said)
"""
READ, CHANGE, TAKE = "/bfly.v1.Fabric/Status", "/bfly.v1.Traffic/Stop", "/bfly.v1.Fabric/Arbitrate"
REFLECT = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
# Answers of callers who came in and whom the call itself refused: no fabric is loaded.
ADMITTED = ("OK", "FAILED_PRECONDITION", "INVALID_ARGUMENT", "NOT_FOUND")

# Users without a name: this machine needs no account for them.
STRANGER, VIEWER, OPERATOR, PRIMARY, MEMBER = 61001, 61002, 61003, 61004, 61005
LAB_GROUP = 61100

UNITS = pathlib.Path(__file__).resolve().parents[2] / "deploy/systemd"
# Numbers of linux/capability.h.
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_IPC_LOCK": 14, "CAP_SYS_RAWIO": 17, "CAP_SYS_ADMIN": 21,
                "CAP_SYS_NICE": 23, "CAP_BPF": 39}


def capabilities_of_unit(path):
    [line] = [line for line in path.read_text().splitlines() if line.startswith("CapabilityBoundingSet=")]
    return sum(1 << CAPABILITIES[name] for name in line.split("=")[1].split())


def capabilities_of_thread(task):
    """What it may do, what it could take, what programs that it starts could get, and whether that is all. None: it has
    ended."""
    try:
        text = (task / "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    return (*(int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")), int(fields["NoNewPrivs"]))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class AccessTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)
        self.run_dir = self.lab.directory / "run"
        self.lab.directory.chmod(0o755)
        self.caller = self.lab.directory / "caller.py"
        self.caller.write_text(CALLER)

    def daemon(self, program, *arguments):
        return lab.Process(self.lab, [lab.BUILD / program, "--run-dir", self.run_dir, *arguments], program)

    def call(self, method, address, *files, user=None, groups=""):
        become = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}",
                                          f"--groups={groups}" if groups else "--clear-groups"]
        return lab.run(*become, "/usr/bin/python3", self.caller, method, address, *files).strip()

    def openssl(self, *arguments, text=None):
        subprocess.run(["openssl", *map(str, arguments)], input=text, text=True, check=True, capture_output=True,
                       timeout=lab.PATIENCE, cwd=self.lab.directory)

    def authority(self, name):
        """An authority that signs certificates. Returns the path of its own."""
        folder = self.lab.directory
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                     "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")
        return folder / f"{name}.pem"

    def certificate(self, authority, name):
        """A certificate for 127.0.0.1 that the authority signed, and its key."""
        folder = self.lab.directory
        certificate, key, request = (folder / f"{authority.stem}-{name}.{kind}" for kind in ("pem", "key", "csr"))
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
                     "-keyout", key, "-out", request)
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        self.openssl("x509", "-req", "-days", "2", "-in", request, "-CA", authority, "-CAkey",
                     authority.with_suffix(".key"), "-CAcreateserial", "-out", certificate, "-extfile", folder / "names")
        key.chmod(0o600)
        return certificate, key

    def assert_may(self, said, may, whom):
        if may:
            self.assertIn(said.split()[0], ADMITTED, f"{whom}: {said}")
        else:
            self.assertIn(said.split()[0], ("PERMISSION_DENIED", "UNAVAILABLE"), f"{whom}: {said}")

    def audit(self):
        return [json.loads(line) for line in (self.run_dir / "audit.log").read_text().splitlines()]

    def test_users_of_this_machine_have_their_roles(self):
        controller = self.daemon("bfly-controller", "--viewer", f"user:{VIEWER}", "--viewer", f"group:{LAB_GROUP}",
                                 "--operator", f"user:{OPERATOR}", "--primary", f"user:{PRIMARY}")
        controller.wait_for("answers at")
        self.assertEqual((self.run_dir / "controller.sock").stat().st_mode & 0o777, 0o666)
        address = f"unix:{self.run_dir}/controller.sock"
        #          user      groups     reads  changes takes
        matrix = ((STRANGER, "",        False, False, False),
                  (VIEWER,   "",        True,  False, False),
                  (MEMBER,   LAB_GROUP, True,  False, False),
                  (OPERATOR, "",        True,  True,  False),
                  (PRIMARY,  "",        True,  True,  True),
                  (0,        "",        True,  True,  True))
        changes = []
        for user, groups, *mays in matrix:
            for method, may in zip((READ, CHANGE, TAKE), mays):
                said = self.call(method, address, user=user, groups=groups)
                self.assert_may(said, may, f"user {user} calls {method}")
                if method != READ and user != STRANGER:
                    changes.append((user, method, may))
        # Who changed what, or tried to, is written down; strangers never came in, and readers are not written down.
        lab.wait_until(lambda: len(self.audit()) >= len(changes), "every call is in the audit log")
        written = self.audit()
        self.assertEqual(len(written), len(changes), written)
        for line, (user, method, may) in zip(written, changes):
            name = "root" if user == 0 else str(user)
            self.assertRegex(line["caller"], f"^process [0-9]+ of user {name}$")
            self.assertEqual("/" + line["call"].replace(".", "/").replace("bfly/v1/", "bfly.v1."), method)
            self.assertEqual(line["status"] == "PERMISSION_DENIED", not may, line)
        self.assertEqual((self.run_dir / "audit.log").stat().st_mode & 0o007, 0)

    def test_a_file_at_the_path_of_a_renamed_socket_gives_no_rights(self):
        self.daemon("bfly-controller", "--viewer", f"user:{VIEWER}").wait_for("answers at")
        path = self.run_dir / "controller.sock"
        renamed = path.rename(self.run_dir / "renamed.sock")
        path.touch()
        os.chown(path, VIEWER, VIEWER)
        self.assert_may(self.call(TAKE, f"unix:{renamed}", user=VIEWER), False, "the owner of a file at its path")
        self.assert_may(self.call(READ, f"unix:{renamed}", user=VIEWER), True, "a viewer")

    def test_a_viewer_who_calls_without_pause_is_slowed_down_and_others_are_not(self):
        self.daemon("bfly-controller", "--viewer", f"user:{VIEWER}", "--operator", f"user:{OPERATOR}", "--viewer-calls", 0.001) \
            .wait_for("answers at")
        self.caller.write_text(MANY)
        address = f"unix:{self.run_dir}/controller.sock"
        words = ("/usr/bin/python3", self.caller, READ, address, 50)
        # One call at once, and the next one in a thousand seconds.
        said = lab.run("setpriv", f"--reuid={VIEWER}", f"--regid={VIEWER}", "--clear-groups", *words)
        self.assertRegex(said, r"\{'OK': 1, 'RESOURCE_EXHAUSTED': 49\} process \d+ of user \d+ begins more than 0.001 calls a second")
        for user in (OPERATOR, 0):
            said = lab.run("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words)
            self.assertIn("{'OK': 50}", said)

    def test_certificates_have_their_roles_and_plain_tcp_nothing(self):
        ours, theirs = self.authority("ours"), self.authority("theirs")
        server = self.certificate(ours, "controller")
        port = free_port()
        self.daemon("bfly-controller", "--tls-listen", port, "--tls-cert", server[0], "--tls-key", server[1],
                    "--tls-ca", ours, "--viewer", "certificate:eve", "--operator", "certificate:bob",
                    "--primary", "certificate:alice", "--no-reflection").wait_for("answers at")
        address = f"127.0.0.1:{port}"
        self.assertEqual((self.run_dir / "controller.sock").stat().st_mode & 0o777, 0o660)
        matrix = {"eve": (True, False, False), "bob": (True, True, False), "alice": (True, True, True),
                  "mallory": (False, False, False)}
        for name, mays in matrix.items():
            files = self.certificate(ours, name)
            for method, may in zip((READ, CHANGE, TAKE), mays):
                self.assert_may(self.call(method, address, ours, *files), may, f"{name} calls {method}")
        # The right name by the wrong authority, no certificate, and no encryption.
        self.assert_may(self.call(READ, address, ours, *self.certificate(theirs, "alice")), False, "another alice")
        self.assert_may(self.call(READ, address, ours), False, "nobody")
        self.assert_may(self.call(READ, address), False, "plain TCP")
        # A client that trusts another authority does not talk to this server.
        self.assert_may(self.call(READ, address, theirs, *self.certificate(ours, "alice")), False, "a wary client")
        self.assertIn("UNIMPLEMENTED", self.call(REFLECT, address, ours, *self.certificate(ours, "alice")))

        # The command line with its files, with the wrong ones, and with none.
        bob = self.certificate(ours, "bob")
        told = lab.run(lab.BUILD / "bfly", "status", "--controller", address, "--tls-ca", ours, "--tls-cert", bob[0],
                       "--tls-key", bob[1], "--json")
        self.assertFalse(json.loads(told)["loaded"])
        bob[1].chmod(0o644)
        for more, message in (((), "tls-ca: "), (("--tls-ca", ours, "--tls-cert", bob[0], "--tls-key", bob[1]), "chmod 600")):
            refused = subprocess.run([lab.BUILD / "bfly", "status", "--controller", address, *more], text=True,
                                     capture_output=True, timeout=lab.PATIENCE, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(message, refused.stderr)

    def test_renewed_certificates_are_taken_up_without_a_restart(self):
        ours = self.authority("ours")
        server, eve = self.certificate(ours, "controller"), self.certificate(ours, "eve")
        port = free_port()
        self.daemon("bfly-controller", "--tls-listen", port, "--tls-cert", server[0], "--tls-key", server[1],
                    "--tls-ca", ours, "--viewer", "certificate:eve").wait_for("answers at")
        context = ssl.create_default_context(cafile=str(ours))
        context.load_cert_chain(*eve)
        context.set_alpn_protocols(["h2"])

        def is_shown(certificate):
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=lab.PATIENCE) as plain, \
                        context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted:
                    return encrypted.getpeercert(binary_form=True) == certificate
            except OSError:  # a certificate and the key of another one
                return False

        def der(path):
            return ssl.PEM_cert_to_DER_cert(path.read_text())

        old = der(server[0])
        self.assertTrue(is_shown(old))
        for path, renewed in zip(server, self.certificate(ours, "renewed")):
            renewed.replace(path)
        self.assertNotEqual(der(server[0]), old)
        lab.wait_until(lambda: is_shown(der(server[0])), "a new connection shows the new certificate")
        self.assert_may(self.call(READ, f"127.0.0.1:{port}", ours, *eve), True, "eve")

    def test_a_data_plane_takes_orders_of_its_controller_alone(self):
        ours = self.authority("ours")
        plane, controller, other = (self.certificate(ours, name) for name in ("dp0", "controller", "other"))
        port = free_port()
        self.daemon("bfly-dataplane", "--no-huge", "--tls-listen", port, "--tls-cert", plane[0], "--tls-key", plane[1],
                    "--tls-ca", ours, "--primary", "certificate:controller").wait_for("answers at")
        address = f"127.0.0.1:{port}"
        state = "/bfly.v1.Agent/GetState"
        self.assert_may(self.call(state, address, ours, *controller), True, "the controller")
        for files in ((ours, *other), (ours,), ()):
            self.assert_may(self.call(state, address, *files), False, f"files {files}")
        # `bfly up` starts a controller that reaches it by TCP, and without files says what is missing.
        file = self.lab.directory / "fabric.yaml"
        file.write_text("name: far\nnetwork: {kind: butterfly, rows: 2}\n"
                        f"data_planes: [{{name: dp0, address: '{address}'}}]\n"
                        f"placement: [{{stages: 0, lcore: {min(os.sched_getaffinity(0))}, data_plane: dp0}}]\n")
        with_files = ("--tls-cert", controller[0], "--tls-key", controller[1], "--tls-ca", ours)
        for files, code, message in (((), 1, "tls-ca: "), (with_files, 0, "far is up")):
            here = ("--run-dir", self.lab.directory / "up")
            self.addCleanup(lab.run, lab.BUILD / "bfly", "down", *here, check=False)
            done = subprocess.run([str(word) for word in (lab.BUILD / "bfly", "up", file, *here, *files)], text=True,
                                  capture_output=True, timeout=lab.PATIENCE, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertIn(message, done.stdout + done.stderr)

    def test_daemons_started_by_root_keep_the_capabilities_of_their_units(self):
        """CAP_SYS_RAWIO besides, which the unit of a data plane leaves to a drop-in."""
        switch = self.lab.namespace("sw")
        hosts = {row: self.lab.host(f"h{row}", switch, f"bf{row}", f"10.77.0.{16 + row}/24") for row in (0, 3)}
        with fabric.Fabric(self.lab, switch, fabric.topology([fabric.host_port(row) for row in hosts])) as net:
            hosts[0].ping(hosts[3].address)
            for name, unit, more in (("controller", "bfly-controller.service.in", 0),
                                     ("dp0", "bfly-dataplane@.service.in", 1 << CAPABILITIES["CAP_SYS_RAWIO"])):
                with self.subTest(daemon=name):
                    kept = capabilities_of_unit(UNITS / unit) | more
                    pid = net.pid(name)
                    states = {task.name: capabilities_of_thread(task) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}
                    self.assertIsNotNone(states[str(pid)])
                    self.assertEqual(set(states.values()) - {None}, {(kept, kept, kept, 1)})
            net.down()

    def test_wrong_files_and_callers_are_refused_before_anything_listens(self):
        ours = self.authority("ours")
        certificate, key = self.certificate(ours, "controller")
        open_key = self.lab.directory / "open.key"
        open_key.write_text(key.read_text())
        open_key.chmod(0o644)
        port = free_port()
        files = ("--tls-cert", certificate, "--tls-key", key, "--tls-ca", ours)
        for arguments, message in (
                (("--tls-listen", port), "--tls-cert and --tls-key"),
                (("--tls-listen", port, *files[:4]), "--tls-ca"),
                (("--tls-listen", port, "--tls-cert", certificate, "--tls-key", open_key, "--tls-ca", ours), "chmod 600"),
                (("--tls-listen", f"localhost:{port}", *files), "localhost"),
                (("--operator", "anyone"), "anyone"),
                (("--viewer", "user:no-such-user"), "no-such-user"),
                (("--listen", f"127.0.0.1:{port}"), "--tls-listen")):
            for program in ("bfly-controller", "bfly-dataplane"):
                if program == "bfly-dataplane" and arguments[0] in ("--operator", "--viewer"):
                    continue
                done = subprocess.run([lab.BUILD / program, "--run-dir", self.run_dir, *map(str, arguments)], text=True,
                                      capture_output=True, timeout=lab.PATIENCE, check=False)
                self.assertEqual(done.returncode, 1, f"{program} {arguments}: {done.stdout}{done.stderr}")
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

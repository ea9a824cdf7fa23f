# SPDX-License-Identifier: Apache-2.0
"""The main job of bfly, run on real traffic; deploy/demo --help says what it does."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BFLY_BUILD", ROOT / "build")).resolve()
BFLY = BUILD / "bfly"
TOPOLOGY = ROOT / "topologies/examples/demo.yaml"
HOSTS = 4
CIRCUIT_ROWS = "4-15"
# Packets a second over every circuit.
CIRCUIT_RATE = 2000
# No single command may take longer; the whole demo is bounded by their number.
DEADLINE = 90


class Failed(Exception):
    pass


class Interrupts:
    """Ends the demo at the first signal, but not while the demo starts a process: nobody would know of that process.
    Later signals change nothing: the demo is ending, and each of its steps is bounded."""

    def __init__(self):
        self.held = False
        self.waiting = None
        self.ended = False

    def on_signal(self, number, _frame):
        if self.held:
            self.waiting = number
        else:
            self.end(number)

    def end(self, number):
        if not self.ended:
            self.ended = True
            raise KeyboardInterrupt(number)

    def __enter__(self):
        self.held = True

    def __exit__(self, *_):
        self.held = False
        number, self.waiting = self.waiting, None
        if number is not None:
            self.end(number)


INTERRUPTS = Interrupts()


def tell(text, stream):
    """Prints, also if nobody reads the stream any more: the text is lost then, with what waits in the stream."""
    try:
        print(text, file=stream, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Demo:
    def __init__(self, seconds):
        self.seconds = seconds
        self.wrong = []
        self.processes = []
        self.up = False
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"bfly-demo-{os.getpid()}-"))
        self.run_dir = self.directory / "run"

    # -- commands ----------------------------------------------------------------------------------

    def command(self, *words, host=None):
        words = [str(word) for word in words]
        if host is None:
            return words
        return [str(BFLY), "lab", "exec", f"h{host}", "--run-dir", str(self.run_dir), "--", *words]

    def run(self, *words, host=None, check=True):
        """Runs a command to its end and returns its output. In a session of its own: Ctrl-C on the
        terminal comes to the demo alone, which then ends the command itself."""
        words = self.command(*words, host=host)
        process = None
        try:
            with INTERRUPTS:
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True, start_new_session=True)
                self.processes.append(process)
            out, err = process.communicate(timeout=DEADLINE)
        except BaseException:
            if process is None:
                raise
            with INTERRUPTS:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=DEADLINE)
                process.kill()
            raise
        self.processes.remove(process)
        if check and process.returncode:
            raise Failed(f"{' '.join(words)} (exit {process.returncode}): {(out + err).strip()}")
        return out

    def start(self, *words, host=None, stdout=subprocess.DEVNULL):
        with INTERRUPTS:
            process = subprocess.Popen(self.command(*words, host=host), stdin=subprocess.DEVNULL,
                                       stdout=stdout, stderr=subprocess.STDOUT, text=True,
                                       start_new_session=True)
            self.processes.append(process)
        return process

    def bfly(self, *words):
        return self.run(BFLY, *words, "--run-dir", self.run_dir)

    def bfly_json(self, *words):
        return json.loads(self.bfly(*words, "--json"))

    def say(self, text):
        print(text, flush=True)

    def title(self, text):
        self.say(f"\n== {text}")

    def expect(self, right, what):
        self.say(f"  {'ok   ' if right else 'WRONG'} {what}")
        if not right:
            self.wrong.append(what)

    # -- steps -------------------------------------------------------------------------------------

    def topology(self):
        """The example, with the two workers on CPUs this machine has."""
        cpus = sorted(os.sched_getaffinity(0))
        text = TOPOLOGY.read_text()
        if not {0, 1} <= set(cpus):
            text = re.sub(r"lcore: 1\b", f"lcore: {cpus[-1]}", text)
            text = re.sub(r"lcore: 0\b", f"lcore: {cpus[0]}", text)
        path = self.directory / "demo.yaml"
        path.write_text(text)
        return path

    @staticmethod
    def address(host):
        return f"10.77.0.{host + 1}"

    def bring_up(self):
        # The name has the process in it, so that two demos do not meet.
        self.title("bfly lab up topologies/examples/demo.yaml")
        self.up = True
        self.say(self.bfly("lab", "up", self.topology(), "--name", f"bfly-demo-{os.getpid()}").rstrip())
        self.title("bfly lab status")
        self.say(self.bfly("lab", "status").rstrip())
        hosts = self.bfly_json("lab", "status")["hosts"]
        self.expect([host["addresses"] for host in hosts] == [[f"{self.address(i)}/24"] for i in range(HOSTS)]
                    and all(host["state"] == "up" for host in hosts),
                    f"{HOSTS} hosts, each a network namespace with one interface")

    def ping(self):
        self.title("ping between all hosts, through the fabric")
        for i in range(HOSTS):
            for j in range(HOSTS):
                if i == j:
                    continue
                # The first packet waits for ARP; a busy machine may lose one to a late worker.
                out = self.run("ping", "-c", 3, "-i", 0.2, "-W", 5, self.address(j), host=i,
                               check=False)
                received = re.search(r"(\d+) received", out)
                times = re.search(r"= [\d.]+/([\d.]+)/", out)
                self.expect(received is not None and int(received[1]) == 3,
                            f"host {i} -> host {j}: {received[1] if received else 0} of 3 answered"
                            + (f", {times[1]} ms" if times else ""))

    def set_up_circuits(self):
        seed = os.environ.get("BFLY_DEMO_SEED", "1")
        words = ["circuit", "permutation", "--protocol", "minimum", "--permutation", "random",
                 "--rows", CIRCUIT_ROWS, "--seed", seed, "--traffic", CIRCUIT_RATE]
        self.title("bfly " + " ".join(map(str, words)))
        self.routed = self.bfly_json(*words)
        for path in self.routed["paths"]:
            self.say(f"  {path['input']:2} -> {path['output']:2}  rows "
                     + " ".join(f"{row:2}" for row in path["rows"]))
        self.say(f"  congestion {self.routed['congestion']}, dilation {self.routed['dilation']}, "
                 f"{self.routed['rounds']} rounds, {self.routed['messages']} messages, "
                 f"{self.routed['seconds'] * 1e3:.3g} ms")
        standing = self.bfly_json("circuit", "list")
        self.expect(len(self.routed["paths"]) == 12 and int(standing["total"]) == 12,
                    f"{standing['total']} circuits stand")

    def transfer_and_watch(self):
        self.title(f"iperf3 from host 0 to host 3, and bfly counters --watch, for {self.seconds} s")
        server_log = self.directory / "iperf3-server.log"
        with open(server_log, "w") as log:
            self.start("iperf3", "--server", "--one-off", "--forceflush", host=3, stdout=log)
        deadline = time.monotonic() + 20
        while "listening" not in server_log.read_text():
            if time.monotonic() > deadline:
                raise Failed("the iperf3 server did not start: " + server_log.read_text())
            time.sleep(0.05)
        report = self.directory / "iperf3.json"
        with open(report, "w") as log:
            client = self.start("iperf3", "--client", self.address(3), "--time", self.seconds, "--json",
                                "--connect-timeout", 10000, host=0, stdout=log)
        # On the terminal itself: this is what a user sees.
        with INTERRUPTS:
            watch = subprocess.Popen([BFLY, "counters", "--watch", "--seconds", str(self.seconds), "--interval",
                                      "500", "--run-dir", self.run_dir], stdin=subprocess.DEVNULL)
            self.processes.append(watch)
        self.expect(watch.wait(timeout=self.seconds + DEADLINE) == 0, "the live congestion was drawn")
        client.wait(timeout=self.seconds + DEADLINE)
        result = json.loads(report.read_text() or "{}")
        received = result.get("end", {}).get("sum_received", {})
        self.expect(client.returncode == 0 and received.get("bytes", 0) > 0,
                    f"TCP across the fabric: {received.get('bytes', 0) / 1e6:.1f} MB at "
                    f"{received.get('bits_per_second', 0) / 1e6:.1f} Mbit/s"
                    + (f" ({result['error']})" if "error" in result else ""))

    def look_back(self):
        self.title("what the fabric counted")
        counters = self.bfly_json("counters")
        packets = {(link["stage"], link["row"], link["port"]): link for link in counters["links"]}
        over = {}
        for path in self.routed["paths"]:
            for stage, (row, next_row) in enumerate(zip(path["rows"], path["rows"][1:])):
                link = next(link for link in counters["links"]
                            if (link["stage"], link["row"], link["next_row"]) == (stage, row, next_row))
                key = (stage, row, link["port"])
                over[key] = over.get(key, 0) + 1
        self.expect(all(packets[key]["circuits"] == count for key, count in over.items())
                    and sum(link["circuits"] for link in counters["links"]) == sum(over.values()),
                    f"the {len(over)} links of the paths, and no other, carry the circuits")
        self.expect(all(packets[key]["packets"] > 0 for key in over), "every one of them carried packets")
        account = counters["conservation"]
        self.expect(account["injected"] == account["delivered"] + account["dropped"] + account["in_flight"],
                    "the account balances while traffic runs")
        for port in counters["ports"]:
            self.expect(port["rx_packets"] > 0 and port["tx_packets"] > 0,
                        f"port {port['name']}: received {port['rx_packets']} frames, sent {port['tx_packets']}")
        drops = ", ".join(f"{drop['reason']} {drop['packets']}" for drop in counters["drops"] if drop["packets"])
        self.say(f"  dropped: {drops or 'nothing'}")

    def take_down(self):
        self.title("bfly lab down")
        self.bfly("traffic", "stop")
        account = self.bfly_json("lab", "down")["account"]["conservation"]
        self.up = False
        self.say(f"  conservation: injected {account['injected']} = delivered {account['delivered']} + "
                 f"dropped {account['dropped']} + in flight {account['in_flight']}")
        self.expect(account["injected"] == account["delivered"] + account["dropped"]
                    and account["in_flight"] == 0 and account["injected"] > 0,
                    "every packet is accounted for, and nothing is left inside")

    # -- the end -----------------------------------------------------------------------------------

    def clean_up(self):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            if process.poll() is None:
                process.kill()
                process.wait()
        left = []
        # `bfly lab up` that was interrupted has removed what it had made.
        if self.up and (self.run_dir / "lab.journal").exists():
            try:
                self.bfly("lab", "down")
            except (Failed, OSError, subprocess.TimeoutExpired) as error:
                left.append(str(error))
        if left and self.run_dir.exists():
            left.append(f"logs are in {self.run_dir}")
        else:
            shutil.rmtree(self.directory, ignore_errors=True)
        for line in left:
            tell(f"deploy/demo: could not clean up: {line}", sys.stderr)
        return not left

    def main(self):
        self.bring_up()
        self.ping()
        self.set_up_circuits()
        self.transfer_and_watch()
        self.look_back()
        self.take_down()


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, INTERRUPTS.on_signal)
    # The demo begins anew, in a directory of its own and not in that of the caller's fabric.
    os.environ.pop("BFLY_STATE_DIR", None)
    started = time.monotonic()
    code, why = 0, ""
    demo = Demo(int(sys.argv[1]))
    try:
        demo.main()
    except KeyboardInterrupt:
        code, why = 130, "interrupted, cleaning up"
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        INTERRUPTS.ended = True
        code, why = 1, str(error)
    except Exception as error:  # whatever is wrong, the lab goes
        INTERRUPTS.ended = True
        code, why = 1, repr(error)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        tell("", sys.stdout)
        if why:
            tell(f"deploy/demo: {why}", sys.stderr)
        clean = demo.clean_up()
    code = code or int(not clean)
    if demo.wrong:
        tell(f"bfly demo: {len(demo.wrong)} thing(s) were not as they should be:", sys.stdout)
        for what in demo.wrong:
            tell(f"  {what}", sys.stdout)
        code = code or 1
    elif code == 0:
        tell(f"bfly demo: everything was as it should be; {time.monotonic() - started:.0f} s, all that was made is gone",
             sys.stdout)
    sys.exit(code)


if __name__ == "__main__":
    main()

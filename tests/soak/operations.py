# SPDX-License-Identifier: Apache-2.0
"""What chaos does to a fabric. Each function does one thing, enters in the subject what must hold from then on, and says in a
few words what it did."""
import os
import signal
import socket
import subprocess

import frames
import lab
import raw_http2

SEEDS = lab.ROOT / "tests/fuzz/seeds/frame"


def set_up_circuit(subject, dice):
    source, to = dice.randrange(subject.rows), dice.randrange(subject.rows)
    circuit = subject.try_to("circuit", "setup", source, to, "--protocol", "minimum", "--seed", dice.randrange(1000))
    free = source not in subject.circuits and to not in {output for output, _ in subject.circuits.values()}
    if circuit is None:
        if free and not subject.down:
            raise AssertionError(f"no circuit from {source} to {to}, both are free and no link is down")
        return f"{source} -> {to} refused"
    if not free:
        raise AssertionError(f"a second circuit at {source} or {to}")
    subject.circuits[source] = (to, circuit["rows"])
    return f"{source} -> {to}"


def release_circuit(subject, dice):
    if not subject.circuits:
        return "none stands"
    row = dice.choice(sorted(subject.circuits))
    released = subject.net.json("circuit", "release", subject.listed()[row]["id"])
    if released["output"] != subject.circuits.pop(row)[0]:
        raise AssertionError(f"another circuit was released: {released}")
    return f"of input {row}"


def permutation(subject, dice):
    words = ["circuit", "permutation", "--protocol", dice.choice(["minimum", "collision"]), "--seed", dice.randrange(1000),
             "--replace", "--summary", *dice.choice([[], ["--in-band"]])]
    done = subject.try_to(*words)
    subject.take_circuits_as_listed()
    return " ".join(map(str, words[3:])) + ("" if done else ": refused")


def start_traffic(subject, dice):
    name = f"t{dice.randrange(4)}"
    rate = dice.choice([100, 1000, 20000, 0])
    words = ["--rate", rate, "--to", dice.choice(["uniform", "bitcomp", "circuit", "tornado"]), "--bytes",
             dice.choice([64, 700, 1500]), "--packets", dice.choice([0, 500])]
    if subject.try_to("traffic", "start", "--name", name, "--seed", dice.randrange(100), *words) is None:
        return "refused"
    subject.sources.add(name)
    return f"{name} {' '.join(map(str, words))}"


def stop_traffic(subject, dice):
    if not subject.sources:
        return "none runs"
    name = dice.choice(sorted(subject.sources))
    subject.net.bfly("traffic", "stop", name)
    subject.sources.remove(name)
    return name


def fail_link(subject, dice):
    link = (dice.randrange(subject.stages()), dice.randrange(subject.rows), dice.randrange(2))
    subject.net.bfly("link", "down", "s{} r{} p{}".format(*link))
    subject.down.add(link)
    return str(link)


def restore_links(subject, _dice):
    for link in sorted(subject.down):
        subject.net.bfly("link", "up", "s{} r{} p{}".format(*link))
    count = len(subject.down)
    subject.down.clear()
    return f"{count} links"


def fail_node(subject, dice):
    """A node goes down and comes back; links that were down by themselves stay down."""
    node = dice.randrange(subject.stages()), dice.randrange(subject.rows)
    subject.net.bfly("node", "down", *node)
    subject.net.counters()
    subject.net.bfly("node", "up", *node)
    return str(node)


def change_links(subject, dice):
    where = f"s{dice.randrange(subject.stages())} r{dice.randrange(subject.rows)}"
    shape = dice.choice([["--delay", "50us"], ["--rate", "100Mbps"], ["--rate", "1Gbps", "--queue-limit", "20"],
                         ["--rate", "none", "--delay", "0us"], ["--loss", "0.01"]])
    done = subject.try_to("link", "set", where, *shape)
    return f"{where} {' '.join(shape)}" + ("" if done is not None else ": refused")


def start_schedule(subject, dice):
    """Circuits on a clock, in place of those that step already. A link that is down, or that has no room, is why not."""
    words = [dice.choice(["rotor", "round-robin"]), "--slot", dice.choice(["200us", "1ms", "20ms"]), "--guard", "10us",
             "--late", dice.choice(["wait", "drop", "vlb"]), "--queue", dice.choice([4, 256])]
    started = subject.try_to("circuit", "schedule", *words, "--replace")
    if started is None:
        by_other_rows = "vlb" in words
        if not subject.down and not subject.circuits and not (by_other_rows and len(subject.planes) > 1):
            raise AssertionError(f"a schedule was refused where no link is down: {words}")
        return f"{words[0]} refused"
    slots = len(started["slots"])
    if slots != subject.rows - 1:
        raise AssertionError(f"{slots} slots on {subject.rows} rows")
    subject.schedule = words[0]
    return " ".join(map(str, words))


def stop_schedule(subject, _dice):
    if subject.schedule is None:
        return "none runs"
    subject.net.bfly("circuit", "schedule", "stop")
    stopped, subject.schedule = subject.schedule, None
    return stopped


def add_port(subject, dice):
    """A host port that takes what comes out at its row, or an interface of the switch."""
    row = dice.randrange(1, subject.rows)
    name = f"p{row}"
    device = dice.choice([f"net_null{row},no-rx=1", f"net_af_packet{row},iface={subject.spare_interface}"])
    added = subject.try_to("port", "add", name, "--device", device, "--rows", row)
    taken = row in subject.port_rows() or (device.startswith("net_af") and "net_af" in "".join(subject.ports.values()))
    if added is None:
        if not taken and len(subject.planes) == 1 and len(subject.ports) < subject.SPARE_PORTS:
            raise AssertionError(f"a port at the free row {row} was refused: {device}")
        return f"{name} {device}: refused"
    if row in subject.port_rows():
        raise AssertionError(f"a second port at row {row}")
    subject.ports[name] = device
    return f"{name} {device}"


def remove_port(subject, dice):
    if not subject.ports:
        return "none was added"
    name = dice.choice(sorted(subject.ports))
    subject.net.bfly("port", "remove", name)
    del subject.ports[name]
    return name


def kill_controller(subject, _dice):
    subject.net.kill("controller")
    if subject.only_the_controller_knows:
        subject.counts_again()
        # Nobody knows any more what the killed data plane had taken from its trunk.
        subject.trunk_is_unknown = True
    subject.start_again("controller")
    return "and started it"


def kill_data_plane(subject, dice):
    name = dice.choice(subject.planes)
    subject.net.kill(name)
    subject.counts_again(only_the_controller_knows=True)
    subject.start_again(name)
    lab.wait_until(subject.all_run, f"{name} runs again")
    subject.come_to()
    return name


def kill_controller_and_data_planes(subject, dice):
    """At once, some or all of them: what was on disk comes back, whoever is started first."""
    planes = dice.sample(subject.planes, dice.randint(1, len(subject.planes)))
    subject.wait_until_kept()
    for name in ["controller", *planes]:
        subject.net.kill(name)
    subject.counts_again()
    subject.trunk_is_unknown = True
    names = ["controller", *planes]
    dice.shuffle(names)
    for name in names:
        subject.start(name)
    lab.wait_until(lambda: subject.answers() and subject.all_run(), "all run again")
    subject.come_to()
    return f"{', '.join(planes)}; then {', '.join(names)}"


def stop_data_plane_for_a_while(subject, dice):
    """It hangs, and goes on: what it did not hear meanwhile is done."""
    name = dice.choice(subject.planes)
    pid = subject.net.pid(name)
    os.kill(pid, signal.SIGSTOP)
    try:
        subject.try_to("circuit", "list")
    finally:
        os.kill(pid, signal.SIGCONT)
    lab.wait_until(subject.all_run, f"{name} is heard again")
    return name


def replace_fabric(subject, dice):
    return subject.load(dice)


def down_and_resume(subject, _dice):
    subject.net.bfly("down", check=False)
    subject.check_logs()
    subject.net.bfly("up", subject.net.file, "--resume")
    subject.counts_again()
    subject.trunk_is_unknown = False
    subject.come_to()
    return "the same topology"


def garbage_frames(subject, dice):
    """Random bytes, and real frames with some bytes changed, out of a host."""
    host = dice.choice(subject.hosts)
    seeds = [path.read_bytes() for path in sorted(SEEDS.iterdir())]
    count = 200
    sent = []
    for _ in range(count):
        if dice.random() < 0.4:
            frame = dice.randbytes(dice.randrange(14, 1514))
        else:
            frame = bytearray(dice.choice(seeds)[1:1514].ljust(14, b"\0"))
            for _ in range(dice.randrange(4)):
                frame[dice.randrange(len(frame))] = dice.randrange(256)
        sent.append(bytes(frame))
    frames.send(host, sent)
    return f"{count} out of {host.short}"


def garbage_calls(subject, dice):
    """Bytes that are no HTTP/2, frames of HTTP/2 that are no calls, and calls that are no messages."""
    target = dice.choice(["controller", *subject.planes])
    sent = 0
    for _ in range(20):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(5)
            client.connect(str(subject.net.run_dir / f"{target}.sock"))
            garbage = dice.randbytes(dice.randrange(1, 4000))
            kind = dice.randrange(3)
            if kind == 1:
                garbage = raw_http2.PREFACE + b"".join(
                    raw_http2.frame(dice.randrange(12), dice.randrange(256), dice.randrange(8), dice.randbytes(dice.randrange(60)))
                    for _ in range(20))
            elif kind == 2:
                message = dice.randbytes(dice.randrange(200))
                garbage = raw_http2.PREFACE + raw_http2.frame(raw_http2.SETTINGS, 0, 0) + raw_http2.frame(
                    raw_http2.HEADERS, raw_http2.END_HEADERS, 1, raw_http2.headers(
                        dice.choice(["/bfly.v1.Circuits/SetUp", "/bfly.v1.Fabric/Load", "/bfly.v1.Fabric/RemovePort", "/bfly.v1.Traffic/Start", "/nothing/at_all"]))
                ) + raw_http2.frame(raw_http2.DATA, raw_http2.END_STREAM, 1, b"\0" + len(message).to_bytes(4, "big") + message)
            try:
                client.sendall(garbage)
                client.recv(1000)
            except OSError:
                pass  # it may hang up
            sent += 1
    # An empty message is one that sets up a circuit from row 0 to row 0. Circuits that stood before must stand.
    before = dict(subject.circuits)
    subject.take_circuits_as_listed()
    if any(subject.circuits.get(row) != circuit for row, circuit in before.items()):
        raise AssertionError(f"garbage changed circuits: {before} became {subject.circuits}")
    return f"{sent} to {target}"


def ping(subject, _dice):
    """Hosts may reach each other or not, by what is down; the fabric accounts for their frames."""
    here, there = subject.hosts
    subprocess.run(here.argv("ping", "-c", "3", "-i", "0.02", "-W", "1", there.address), check=False, timeout=lab.PATIENCE,
                   stdout=subprocess.DEVNULL)
    return "between the hosts"


OPERATIONS = {set_up_circuit: 8, release_circuit: 5, permutation: 3, start_traffic: 5, stop_traffic: 4, fail_link: 4,
              start_schedule: 3, add_port: 3, remove_port: 2, stop_schedule: 2, restore_links: 2, fail_node: 2, change_links: 4, kill_controller: 2,
              kill_data_plane: 2, kill_controller_and_data_planes: 2, stop_data_plane_for_a_while: 1, replace_fabric: 2, down_and_resume: 1, garbage_frames: 4,
              garbage_calls: 3, ping: 2}


def choose(dice):
    return dice.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]

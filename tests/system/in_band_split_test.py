# SPDX-License-Identifier: Apache-2.0
"""Circuits set up in band on a fabric split over data planes: the paths of the controller, whatever carries the trunks.

A data plane that dies gives UNAVAILABLE in bounded time, leaves nothing, and takes part again once it is back.
"""

import os
import signal
import time
import unittest

import fabric
import lab

ROWS = 64


class InBandSplitTest(unittest.TestCase):
    def setUp(self):
        self.lab = lab.Lab()
        self.addCleanup(self.lab.close)

    def check_paths(self, net, protocol):
        wanted = ["circuit", "permutation", "--protocol", protocol, "--permutation", "random", "--seed", "7"]
        dry = net.json(*wanted, "--dry-run", "--replace")
        routed = net.json(*wanted, "--in-band", "--replace")
        self.assertEqual(len(routed["paths"]), ROWS)
        for field in ("paths", "rounds", "messages", "congestion", "steps"):
            self.assertEqual(routed[field], dry[field], f"{protocol}: {field}")
        self.assertEqual(len(self.circuits(net)), ROWS)

    def circuits(self, net):
        return net.json("circuit", "list")["circuits"]

    def all_run(self, net):
        return all(plane["state"] == "running" for plane in net.status()["data_planes"])

    def memif(self, name):
        # In the run directory, where a data plane that is started by hand may open it too.
        device = f"id=0,socket={self.lab.directory}/three-run/{name}.sock,socket-abstract=no"
        return f"net_memif0,role=server,{device}", f"net_memif1,role=client,{device}"

    def three_planes(self, namespace):
        """Stages 0-3, 4-7 and 8-11 of a two-fold butterfly, joined by memif."""
        first, second = self.memif("first"), self.memif("second")
        content = fabric.topology(
            [], rows=ROWS,
            placement=[{"stages": "0-3", "lcore": 0, "data_plane": "dp0"},
                       {"stages": "4-7", "lcore": 1, "data_plane": "dp1"},
                       {"stages": "8-11", "lcore": 0, "data_plane": "dp2"}],
            data_planes=[{"name": "dp0"}, {"name": "dp1"}, {"name": "dp2"}],
            trunks=[{"name": "west", "after_stage": 3, "from": "dp0", "from_device": first[0],
                     "to": "dp1", "to_device": first[1]},
                    {"name": "east", "after_stage": 7, "from": "dp1", "from_device": second[0],
                     "to": "dp2", "to_device": second[1]}])
        return fabric.Fabric(self.lab, namespace, content, "three")

    def test_over_memif_and_a_data_plane_that_dies(self):
        with self.three_planes(self.lab.namespace("m")) as net:
            for protocol in ("collision", "minimum"):
                self.check_paths(net, protocol)
            circuits = sorted(int(circuit["id"]) for circuit in self.circuits(net))

            # It hangs. The controller misses it after two seconds; on a busy machine the call may come after that.
            for _ in range(5):
                os.kill(net.pid("dp2"), signal.SIGSTOP)
                begun = time.monotonic()
                with self.assertRaises(lab.CommandFailed) as hung:
                    net.bfly("circuit", "permutation", "--protocol", "collision", "--replace", "--in-band")
                self.assertLess(time.monotonic() - begun, 30)
                self.assertEqual(sorted(int(circuit["id"]) for circuit in self.circuits(net)), circuits)
                os.kill(net.pid("dp2"), signal.SIGCONT)
                if "data plane dp2" not in str(hung.exception):
                    break
                lab.wait_until(lambda: self.all_run(net), "dp2 is heard again")
            self.assertIn("no message came back over trunk west, after stage 3", str(hung.exception))
            net.kill("dp2")
            with self.assertRaisesRegex(lab.CommandFailed, "data plane dp2|no message came back"):
                net.bfly("circuit", "permutation", "--protocol", "minimum", "--replace", "--in-band")
            self.assertEqual(sorted(int(circuit["id"]) for circuit in self.circuits(net)), circuits)

            net.start_data_plane("dp2")
            lab.wait_until(lambda: self.all_run(net), "dp2 is loaded again")
            for protocol in ("minimum", "collision"):
                self.check_paths(net, protocol)

    def test_over_an_af_xdp_trunk_between_two_namespaces(self):
        first, second = self.lab.namespace("x0"), self.lab.namespace("x1")
        self.lab.wire(first, "tr0", second, "tr1", mtu=2000)
        content = fabric.topology(
            [], rows=ROWS,
            placement=[{"stages": "0-5", "lcore": 0, "data_plane": "dp0"},
                       {"stages": "6-11", "lcore": 1, "data_plane": "dp1"}],
            data_planes=[{"name": "dp0"}, {"name": "dp1", "network_namespace": second.name}],
            trunks=[{"name": "middle", "after_stage": 5, "from": "dp0", "from_device": "net_af_xdp,iface=tr0",
                     "to": "dp1", "to_device": "net_af_xdp,iface=tr1"}])
        with fabric.Fabric(self.lab, first, content, "x") as net:
            for protocol in ("collision", "minimum"):
                self.check_paths(net, protocol)


if __name__ == "__main__":
    unittest.main(verbosity=2)

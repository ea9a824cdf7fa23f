# SPDX-License-Identifier: Apache-2.0
"""deploy/container as far as a machine without a container engine can tell: the files agree with themselves, with the packages
and with the programs, and the commands of the containers run, in one run directory, as they stand there."""
import json
import os
import re
import subprocess
import unittest

import yaml

from command_line import BFLY, LCORES, CommandLineTest, balances
from lab import BUILD, PATIENCE, ROOT, Lab, Process

FOLDER = ROOT / "deploy/container"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
MAP, CLAIM, POD = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())


def commands():
    """(name, command) of every container."""
    yield from ((f"compose {name}", service["command"]) for name, service in COMPOSE["services"].items())
    yield from ((f"pod {container['name']}", container["command"]) for container in POD["spec"]["containers"])


class ContainersTest(CommandLineTest):
    def test_yamllint_has_no_complaint(self):
        rules = "{extends: default, rules: {line-length: {max: 130}, document-start: disable, braces: {max-spaces-inside: 0}}}"
        done = subprocess.run(["yamllint", "--strict", "-d", rules, FOLDER], capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_image_is_made_of_the_packages(self):
        lines = re.sub(r"\\\n", "", (FOLDER / "Containerfile").read_text()).splitlines()
        steps = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
        self.assertEqual([step for step, _ in steps], ["FROM", "COPY", "RUN", "VOLUME", "CMD"])
        made = re.findall(r"^Package: (\S+)", (ROOT / "deploy/debian/control").read_text(), re.M)
        for file in steps[1][1].split()[:-1]:
            self.assertIn(re.fullmatch(r"build/packages/(.*)_\*\.deb", file)[1], made)
        self.assertEqual(json.loads(steps[-1][1])[0], "bfly")
        subprocess.run(["sh", "-n", "-c", steps[2][1]], check=True, timeout=PATIENCE)

    def test_what_is_named_is_declared(self):
        for name, service in COMPOSE["services"].items():
            for volume in service["volumes"]:
                source = re.sub(r"\$\{.*?\}", "/variable", volume).split(":")[0]
                self.assertTrue(source.startswith("/") or source in COMPOSE["volumes"], f"{name}: {volume}")
            self.assertLessEqual(set(service.get("depends_on", [])), set(COMPOSE["services"]))
        self.assertEqual((MAP["kind"], CLAIM["kind"], POD["kind"], POD["apiVersion"]),
                         ("ConfigMap", "PersistentVolumeClaim", "Pod", "v1"))
        volumes = {volume["name"]: volume for volume in POD["spec"]["volumes"]}
        self.assertEqual(volumes["topology"]["configMap"]["name"], MAP["metadata"]["name"])
        self.assertEqual(volumes["state"]["persistentVolumeClaim"]["claimName"], CLAIM["metadata"]["name"])
        for container in POD["spec"]["containers"]:
            self.assertLessEqual({mount["name"] for mount in container["volumeMounts"]}, set(volumes))
            # Kubernetes gives hugepages, devices and CPUs of one's own only where limits are the requests.
            self.assertEqual(container["resources"]["limits"], container["resources"]["requests"])

    def test_what_a_controller_keeps_outlives_its_container(self):
        # Where a controller of the run directory /run/bfly keeps the intent, as its help says.
        told = subprocess.run([BUILD / "bfly-controller", "--help"], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
        place = re.search(r"else\s+(\S+)\s+for\s+/run/bfly", told.split("--state-dir")[1])[1]
        service = COMPOSE["services"]["controller"]
        self.assertIn(place, [volume.split(":")[1] for volume in service["volumes"] if volume.split(":")[0] in COMPOSE["volumes"]])
        lasting = {volume["name"] for volume in POD["spec"]["volumes"] if "persistentVolumeClaim" in volume}
        for container in POD["spec"]["containers"]:
            if container["command"][0] == "bfly-controller":
                place = container["command"][container["command"].index("--state-dir") + 1]
                self.assertIn(os.path.dirname(place),
                              [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] in lasting])
        self.assertNotIn("--state-dir", service["command"])

    def test_the_probe_asks_in_the_run_directory_of_the_pod(self):
        places = {words[words.index("--run-dir") + 1] for container in POD["spec"]["containers"]
                  for words in (container["command"], *([container["readinessProbe"]["exec"]["command"]]
                                                        if "readinessProbe" in container else []))}
        self.assertEqual(len(places), 1, places)

    def test_the_programs_take_the_options(self):
        for name, command in commands():
            told = subprocess.run([BUILD / command[0], "--help"], capture_output=True, text=True, check=True,
                                  timeout=PATIENCE).stdout
            for option in (word for word in command if word.startswith("--")):
                self.assertRegex(told, rf"(?m)^  {option} ", name)
        topology = self.write("pod.yaml", MAP["data"]["topology.yaml"])
        self.assertEqual(self.json("describe", topology)["rows"], 16)

    def test_the_commands_run(self):
        # The pod's topology without its port, whose interface a plugin makes.
        pod = {key: value for key, value in yaml.safe_load(MAP["data"]["topology.yaml"]).items() if key != "ports"}
        pod["placement"][0]["lcore"] = LCORES[-1]
        for containers, topology in (("compose", self.file.read_text()), ("pod", json.dumps(pod))):
            with Lab() as lab:
                # Everybody may write to an emptyDir of Kubernetes. In it the daemons make their folders.
                volume, file = lab.directory / "volume", lab.directory / "topology.yaml"
                volume.mkdir()
                volume.chmod(0o755 if containers == "compose" else 0o777)
                run_dir = volume if containers == "compose" else volume / "pod"
                file.write_text(topology)
                places = {"/run/bfly": str(volume), "/run/bfly/pod": str(run_dir), "/var/lib/bfly/pod": str(volume / "state"),
                          "/etc/bfly/topology.yaml": str(file)}
                for name, command in commands():
                    if name.startswith(containers):
                        words = [BUILD / command[0], *(places.get(word, word) for word in command[1:])]
                        Process(lab, words, command[0]).wait_for("answers at")
                # What the pod's probe asks.
                done = subprocess.run([BFLY, "status", "--json", "--run-dir", run_dir], capture_output=True, text=True,
                                      timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                status = json.loads(done.stdout)
                self.assertEqual((status["rows"], [plane["state"] for plane in status["data_planes"]]), (16, ["running"]))
                self.assertTrue(balances(status["conservation"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)

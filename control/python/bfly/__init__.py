# SPDX-License-Identifier: Apache-2.0
"""A client of bfly: connect to a fabric, set circuits up, read its counters, run experiments. docs/python.md shows how.

The messages are those of the API, in bfly.v1, such as bfly.v1.circuits_pb2.Circuit.
"""
from .circuits import Circuits, release, set_up
from .errors import ArgumentError, CommandError, Error, FieldError
from .events import Events
from .experiment import Experiment, measure
from .fabric import Fabric, connect, up
from .faults import Links, Nodes
from .lab import Lab, lab
from .ports import Ports
from .programs import Programs
from .role import Role
from .schedules import Schedules
from .session import Stream
from .telemetry import SUMMARY, Telemetry, links
from .traffic import Traffic, source

__all__ = ["ArgumentError", "Circuits", "CommandError", "Error", "Events", "Experiment", "Fabric", "FieldError", "Lab", "Links", "Nodes",
           "Ports", "Programs", "Role", "SUMMARY", "Schedules", "Stream", "Telemetry", "Traffic", "connect", "lab", "links", "measure", "release",
           "set_up", "source", "up"]

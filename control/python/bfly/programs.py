# SPDX-License-Identifier: Apache-2.0
"""Step programs of the papers, in exact steps: on the workers of the fabric, or as dry runs that record every packet."""
from typing import Any

from .errors import made
from .session import Session
from .v1 import programs_pb2_grpc
from .v1 import route_pb2 as pb


class Programs:
    def __init__(self, session: Session):
        self._session = session
        self._stub = programs_pb2_grpc.ProgramsStub(session.channel)

    def run(self, program: str, **more: Any) -> pb.RouteReport:
        """The stage workers take the steps, with packets of the fabric, as `bfly route --in-band` does.

        `more` are fields of RouteRequest, such as permutation="bitrev", seed=1, h=4 or waves=2.
        """
        report: pb.RouteReport = self._session.call(self._stub.Route, made(pb.RouteRequest, program=program, **more))
        return report

    def dry_run(self, program: str, **more: Any) -> pb.RouteRecording:
        """The controller takes the steps, sends nothing, and tells where every packet was.

        waves and store_and_forward go around what is down now; the others are refused while something is down.
        """
        recording: pb.RouteRecording = self._session.call(self._stub.DryRun, made(pb.RouteRequest, program=program, **more))
        return recording

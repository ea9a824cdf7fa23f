# SPDX-License-Identifier: Apache-2.0
"""Links and nodes that are taken down and brought back, and what links are like."""
from .errors import made, value_of
from .session import Session
from .v1 import circuits_pb2, fabric_pb2, fabric_pb2_grpc, topology_pb2


class Links:
    def __init__(self, session: Session):
        self._session = session
        self._stub = fabric_pb2_grpc.FabricStub(session.channel)

    def fail(self, stage: int, row: int, port: int) -> None:
        """Takes a link down: what comes to it is dropped and counted as link_down."""
        self._set_up(stage, row, port, False)

    def restore(self, stage: int, row: int, port: int) -> None:
        self._set_up(stage, row, port, True)

    def _set_up(self, stage: int, row: int, port: int, up: bool) -> None:
        self._session.call(self._stub.SetLinkState, made(fabric_pb2.SetLinkStateRequest, stage=stage, row=row, port=port, up=up))

    def set(self, *, stages: str = "", rows: str = "", port: int | None = None, rate: str = "", delay: str = "",
            queue_limit: int | None = None, loss: float | None = None, discipline: str = "") -> list[fabric_pb2.LinkGroup]:
        """Changes links of these stages and rows (ranges; left out: all) while packets cross them. Returns what they are
        like then."""
        change = made(topology_pb2.LinkOverride, stages=stages, rows=rows, port=port, rate=rate, delay=delay, queue_limit=queue_limit, loss=loss)
        if discipline:
            change.discipline = value_of("discipline", discipline, dict(topology_pb2.LinkPolicy.Discipline.items()))
        answer: fabric_pb2.SetLinksResponse = self._session.call(
            self._stub.SetLinks, fabric_pb2.SetLinksRequest(changes=[change]))
        return list(answer.links)

    def show(self, *, stages: str = "", rows: str = "", port: int | None = None) -> list[fabric_pb2.LinkGroup]:
        """What links of these stages and rows are like."""
        return list(self._get(stages, rows, port).links)

    def down(self) -> list[circuits_pb2.LinkRef]:
        """The links that were taken down by themselves."""
        return list(self._get("", "", None).down)

    def _get(self, stages: str, rows: str, port: int | None) -> fabric_pb2.GetLinksResponse:
        answer: fabric_pb2.GetLinksResponse = self._session.call(
            self._stub.GetLinks, made(fabric_pb2.GetLinksRequest, stages=stages, rows=rows, port=port))
        return answer


class Nodes:
    def __init__(self, session: Session):
        self._session = session
        self._stub = fabric_pb2_grpc.FabricStub(session.channel)

    def fail(self, level: int, row: int) -> None:
        """Takes a node down with every link that enters or leaves it. The inputs are level 0."""
        self._session.call(self._stub.SetNodeState, made(fabric_pb2.SetNodeStateRequest, level=level, row=row, up=False))

    def restore(self, level: int, row: int) -> None:
        self._session.call(self._stub.SetNodeState, made(fabric_pb2.SetNodeStateRequest, level=level, row=row, up=True))

    def down(self) -> list[fabric_pb2.NodeRef]:
        """The nodes that were taken down by hand."""
        answer: fabric_pb2.GetLinksResponse = self._session.call(self._stub.GetLinks, fabric_pb2.GetLinksRequest())
        return list(answer.down_nodes)

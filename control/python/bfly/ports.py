# SPDX-License-Identifier: Apache-2.0
"""Host ports of a fabric that runs: added and removed one at a time."""
from collections.abc import Sequence

from .errors import made
from .session import Session
from .v1 import attached_port_pb2, fabric_pb2_grpc, topology_pb2


class Ports:
    def __init__(self, session: Session):
        self._session = session
        self._stub = fabric_pb2_grpc.FabricStub(session.channel)

    def add(self, name: str, device: str, rows: str, *, queue_pairs: int = 1, lcores: Sequence[int] = (), data_plane: str = "",
            translate_mac: bool | None = None) -> attached_port_pb2.AttachedPort:
        """Adds a host port for these rows (ranges). The other arguments are those of a port of the topology file. Packets of other
        rows are not lost."""
        port = made(topology_pb2.HostPort, name=name, device=device, rows=rows, queue_pairs=queue_pairs, lcores=lcores,
                    data_plane=data_plane, translate_mac=translate_mac)
        answer: attached_port_pb2.AddPortResponse = self._session.call(
            self._stub.AddPort, attached_port_pb2.AddPortRequest(port=port))
        return answer.port

    def remove(self, name: str) -> attached_port_pb2.AttachedPort:
        """Removes a host port. Returns it as it was."""
        answer: attached_port_pb2.RemovePortResponse = self._session.call(
            self._stub.RemovePort, made(attached_port_pb2.RemovePortRequest, name=name))
        return answer.port

    def list(self) -> list[attached_port_pb2.AttachedPort]:
        """The host ports that there are now."""
        answer: attached_port_pb2.GetPortsResponse = self._session.call(self._stub.GetPorts, attached_port_pb2.GetPortsRequest())
        return [*answer.ports]

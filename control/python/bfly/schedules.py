# SPDX-License-Identifier: Apache-2.0
"""Circuits on a clock: slots that the input workers step through by themselves."""
from collections.abc import Iterable, Mapping, Sequence

from .errors import made, value_of
from .session import Session
from .v1 import schedules_pb2 as pb
from .v1 import schedules_pb2_grpc

# The sequences that have slots of their own.
_SEQUENCES = {"ROTOR": pb.Schedule.ROTOR, "ROUND_ROBIN": pb.Schedule.ROUND_ROBIN}

Slot = str | tuple[str, int] | Sequence[int] | Mapping[int, int] | pb.ScheduleSlot


def _slot_of(one: Slot) -> pb.ScheduleSlot:
    if isinstance(one, pb.ScheduleSlot):
        return one
    if isinstance(one, str):
        return made(pb.ScheduleSlot, permutation=one)
    if isinstance(one, Mapping):
        return made(pb.ScheduleSlot, inputs=list(one.keys()), outputs=list(one.values()))
    if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str):
        return made(pb.ScheduleSlot, permutation=one[0], seed=one[1])
    return made(pb.ScheduleSlot, outputs=one)


class Schedules:
    def __init__(self, session: Session):
        self._session = session
        self._stub = schedules_pb2_grpc.SchedulesStub(session.channel)

    def start(self, slots: str | Iterable[Slot], *, slot: str = "100us", guard: str = "5us", late: str = "wait",
              protocol: str = "", seed: int = 0, queue: int = 0, waiting: int = 0, replace: bool = False,
              dry_run: bool = False) -> pb.ScheduleStatus:
        """Chooses paths for every slot and starts the schedule, as `bfly circuit schedule` does.

        slots           "rotor", "round-robin", or the slots of a cycle in order: each the name of a permutation such as
                        "bitrev", such a name and the seed of a random one ("random", 7), the output of every row in turn,
                        a dict of inputs to outputs for some rows only, or a ScheduleSlot
        seed            of a protocol that chooses at random; permutations have seeds of their own
        slot, guard     durations: how long a slot lasts, and its end in which no frame enters
        late            what happens to frames whose slot is not on: "wait", "drop" or "vlb" (by an intermediate row)
        queue, waiting  frames that may wait at a row for a slot, and at all rows; 0: as without
        """
        schedule = made(pb.Schedule, slot=slot, guard=guard, protocol=protocol, seed=seed, queue=queue, waiting=waiting,
                        late=value_of("late", late, dict(pb.Schedule.Late.items())))
        if isinstance(slots, str):
            schedule.sequence = value_of("slots", slots, _SEQUENCES)
        else:
            schedule.sequence = pb.Schedule.SLOTS
            schedule.slots.extend(_slot_of(one) for one in slots)
        answer: pb.StartScheduleResponse = self._session.call(
            self._stub.Start, pb.StartScheduleRequest(schedule=schedule, replace=replace, dry_run=dry_run))
        return answer.status

    def stop(self) -> pb.ScheduleStatus:
        """Stops the schedule. Returns what it did until then."""
        answer: pb.StopScheduleResponse = self._session.call(self._stub.Stop, pb.StopScheduleRequest())
        return answer.last

    def repair(self) -> pb.RepairScheduleResponse:
        """Chooses paths for every slot anew, around what is down now. Slots for which that fails keep their paths."""
        answer: pb.RepairScheduleResponse = self._session.call(self._stub.Repair, pb.RepairScheduleRequest())
        return answer

    def status(self) -> pb.ScheduleStatus | None:
        """The schedule that runs and what its slots carried, or None."""
        answer: pb.GetScheduleResponse = self._session.call(self._stub.Get, pb.GetScheduleRequest())
        return answer.status if answer.HasField("status") else None

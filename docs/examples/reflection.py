#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The controller of controller.py without a file of bfly: the server describes its services by reflection.

Needs Debian's python3-grpcio and python3-protobuf. Written in this way a controller works in any language of gRPC.
Usage: reflection.py [ADDRESS]    (default unix:/run/bfly/controller.sock)
"""
import queue
import random
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

channel = grpc.insecure_channel(sys.argv[1] if len(sys.argv) > 1 else "unix:/run/bfly/controller.sock")
pool = descriptor_pool.DescriptorPool()

# The one message of server reflection that is needed, and with it the .proto files of a service.
Answer = message_factory.GetMessages([text_format.Parse(
    'name: "answer" dependency: "google/protobuf/descriptor.proto" message_type { name: "Answer" field { name: "found" '
    'number: 4 type: TYPE_MESSAGE label: LABEL_OPTIONAL type_name: ".google.protobuf.FileDescriptorSet" } }',
    descriptor_pb2.FileDescriptorProto()),
    descriptor_pb2.FileDescriptorProto.FromString(descriptor_pb2.DESCRIPTOR.serialized_pb)])["Answer"]


def learn(service):
    ask = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
    files = {f.name: f for f in Answer.FromString(next(ask(iter([b"\x22" + bytes([len(service)]) + service])))).found.file}

    def add(name):
        for needed in files[name].dependency:
            add(needed)
        pool.Add(files[name])
    for name in files:
        add(name)


def message(name, **fields):
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("bfly.v1." + name))(**fields)


def call(method, request, answer, kind="unary_unary"):
    return getattr(channel, kind)("/bfly.v1." + method, response_deserializer=type(message(answer)).FromString,
                                  request_serializer=lambda m: m.SerializeToString())(request)


for name in (b"bfly.v1.Fabric", b"bfly.v1.Circuits", b"bfly.v1.Telemetry"):
    learn(name)

# 1. The primary role: held as long as this stream is open.
ME = random.getrandbits(32) + 1
wishes = queue.Queue()
wishes.put(message("ArbitrateRequest", election_id=ME))
news = call("Fabric/Arbitrate", iter(wishes.get, None), "ArbitrateResponse", "stream_stream")
if not next(news).primary:
    sys.exit("another controller is primary")

# 2. Circuits over paths of our own choice: through a random row in the middle (Valiant), where there is one.
fabric = call("Fabric/Describe", message("DescribeRequest"), "DescribeResponse")
bits = fabric.rows.bit_length() - 1
for source in range(0, fabric.rows, 4):
    target, middle, rows = source ^ 1, random.randrange(fabric.rows), [source]
    for bit in fabric.tag.layout:  # the hop sets this position of the row, 1 is the leftmost
        mask, goal = 1 << (bits - bit.position), target if bit.hop >= fabric.dilation - bits else middle
        rows.append(rows[-1] & ~mask | goal & mask)
    try:
        circuit = call("Circuits/SetUp", message("SetUpRequest", input=source, output=target, rows=rows,
                                                 election_id=ME), "SetUpResponse").circuit
        print("circuit", circuit.id, ":", *circuit.rows)
    except grpc.RpcError as error:  # busy, or a data plane is away: the details name the field
        print(source, "->", target, error.code().name, error.details())

# 3. The counters: now, and as they change.
now = call("Telemetry/GetCounters", message("GetCountersRequest", filter={"top": 3}), "Counters")
for link in now.links:
    print(f"s{link.stage} r{link.row} p{link.port}: {link.circuits} circuits, {link.packets} packets")
c = now.conservation
print(f"injected {c.injected} = delivered {c.delivered} + dropped {c.dropped} + in flight {c.in_flight}")
wishes.put(None)  # leaves: the role is free again

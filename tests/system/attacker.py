#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The attack of a local user without rights: asks the controller at ADDRESS to load a fabric with a port on DEVICE.

Usage: attacker.py ADDRESS DEVICE LCORE    prints the gRPC code, and what the error says
"""
import sys

import grpc

address, device, lcore = sys.argv[1], sys.argv[2], int(sys.argv[3])


def text_field(number, text):
    data = text if isinstance(text, bytes) else text.encode()
    return bytes([number << 3 | 2, len(data)]) + data


def number_field(number, value):
    return bytes([number << 3, value])


# A LoadRequest in its wire format: the attacker has no file of bfly.
network = number_field(1, 1) + number_field(2, 2)  # a butterfly of 2 rows
placement = text_field(1, "0") + number_field(2, lcore)
port = text_field(1, "out") + text_field(2, device) + text_field(3, "0-1")
topology = text_field(1, "attack") + text_field(2, network) + text_field(5, placement) + text_field(6, port)
channel = grpc.insecure_channel(address)
try:
    channel.unary_unary("/bfly.v1.Fabric/Load")(text_field(1, topology), timeout=20)
    print("OK")
except grpc.RpcError as error:
    print(error.code().name, error.details())

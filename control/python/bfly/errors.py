# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package: Error, and ArgumentError and CommandError, which are Errors."""
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import grpc
from google.protobuf import descriptor_pb2, message_factory

# google.rpc.Status and google.rpc.BadRequest. They are kept out of protobuf's common pool, where another package may have
# registered files of the same names.
_FILES = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(__file__).with_name("rpc.descriptors").read_bytes())
_MESSAGES: dict[str, Any] = message_factory.GetMessages(list(_FILES.file))
_M = TypeVar("_M")
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class FieldError(NamedTuple):
    """A field of a request that is wrong: its path, such as "requests[3].input", and what would be right."""

    field: str
    description: str


class Error(Exception):
    """What bfly refused, or why it could not be asked.

    code     the code of gRPC, such as grpc.StatusCode.FAILED_PRECONDITION
    field    the first field that is wrong; "" if the error is about none
    message  what is wrong, where, and what would be right
    fields   every field that is wrong
    """

    def __init__(self, code: grpc.StatusCode, message: str, fields: tuple[FieldError, ...] = ()):
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message
        self.fields = fields
        self.field = fields[0].field if fields else ""

    @classmethod
    def of_number(cls, number: int, message: str) -> "Error":
        """An error from a google.rpc.Code, as a batch gives it for each of its requests."""
        return cls(_CODES.get(number, grpc.StatusCode.UNKNOWN), message)

    @classmethod
    def of_call(cls, error: Any, address: str) -> "Error":
        """An error from what a call of gRPC raised."""
        code, message = error.code(), error.details() or ""
        fields = _fields(error)
        if code == grpc.StatusCode.UNAVAILABLE and not fields and message.startswith(("failed to connect", "connections to")):
            return cls(code, _nobody_there(address, message))
        return cls(code, message, fields)


class ArgumentError(Error, ValueError):
    """An argument that cannot be sent, or a setting with which no connection can be made. It has the code INVALID_ARGUMENT."""

    def __init__(self, field: str, description: str):
        super().__init__(grpc.StatusCode.INVALID_ARGUMENT, f"{field}: {description}", (FieldError(field, description),))


class CommandError(Error):
    """A command in a host that failed. It has the code UNKNOWN.

    exit_code  that of the command, as subprocess has it: -9 after SIGKILL. 125: bfly failed; 126: it cannot be run; 127: there is
               no such command
    stdout     what the command wrote
    stderr     what it wrote there, or what bfly says of it
    """

    def __init__(self, what: str, exit_code: int, stdout: str, stderr: str):
        super().__init__(grpc.StatusCode.UNKNOWN, f"{what}: exit {exit_code}\n{stderr}".rstrip())
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr


def made(kind: Callable[..., _M], **fields: Any) -> _M:
    """A message with these fields; None leaves a field out. Raises ArgumentError for a value that does not fit into its field."""
    fields = {field: [*value] if isinstance(value, Iterator) else value for field, value in fields.items()}
    try:
        return kind(**fields)
    except ValueError:  # of protobuf, which does not name the field
        for field, value in fields.items():
            try:
                kind(**{field: value})
            except ValueError as why:
                raise ArgumentError(field, f"{value!r} cannot be sent ({why})") from None
        raise


def value_of(field: str, word: str, values: dict[str, Any]) -> Any:
    """The value that a word such as "on-off" names. The values have names such as ON_OFF, and 0 may stand for none."""
    known = {name.lower().replace("_", "-"): value for name, value in values.items() if not name.endswith("_UNSPECIFIED")}
    found = known.get(word.lower().replace("_", "-"))
    if found is not None:
        return found
    raise ArgumentError(field, f'"{word}" is unknown (allowed: {", ".join(known)})')


def _fields(error: Any) -> tuple[FieldError, ...]:
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    found = []
    for detail in _MESSAGES["google.rpc.Status"].FromString(details).details:
        if detail.type_url.endswith("/google.rpc.BadRequest"):
            request = _MESSAGES["google.rpc.BadRequest"].FromString(detail.value)
            found += [FieldError(violation.field, violation.description) for violation in request.field_violations]
    return tuple(found)


def _nobody_there(address: str, why: str) -> str:
    path = address.removeprefix("unix:")
    if path == address or pathlib.Path(path).exists():
        return f"no bfly-controller answers at {address} ({why})"
    return f"no fabric runs here: there is no {path}; start one with `bfly up FILE`, or name another address"

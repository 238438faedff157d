"""Probes, lifecycle hooks and the actions both use."""

from __future__ import annotations

from dataclasses import dataclass

from podsync.models.base import Model
from podsync.models.wire import Int32, IntOrString, wire

__all__ = [
    "ExecAction",
    "GRPCAction",
    "HTTPGetAction",
    "HTTPHeader",
    "Lifecycle",
    "LifecycleHandler",
    "Probe",
    "SleepAction",
    "TCPSocketAction",
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Probe(Model):
    """A repeated check of a container; exactly one of its four handlers is set."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None
    initial_delay_seconds: Int32 = 0
    timeout_seconds: Int32 = wire(0, fill=1)
    period_seconds: Int32 = wire(0, fill=10)
    success_threshold: Int32 = wire(0, fill=1)
    failure_threshold: Int32 = wire(0, fill=3)
    termination_grace_period_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Lifecycle(Model):
    """What to run after a container's start and before its end."""

    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LifecycleHandler(Model):
    """One hook; exactly one of its fields is set."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    sleep: SleepAction | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExecAction(Model):
    """A command run inside the container, without a shell; success is exit code 0."""

    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HTTPGetAction(Model):
    """An HTTP GET; success is a status from 200 to 399."""

    path: str = wire("", fill="/")
    port: IntOrString = 0
    host: str = ""
    scheme: str = wire("", fill="HTTP")
    http_headers: tuple[HTTPHeader, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HTTPHeader(Model):
    """One request header; names may repeat."""

    name: str = ""
    value: str = wire("", always=True)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TCPSocketAction(Model):
    """A TCP connection; success is being accepted."""

    port: IntOrString = 0
    host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GRPCAction(Model):
    """A call of the standard gRPC health service."""

    port: Int32 = 0
    service: str | None = wire(None, fill="")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SleepAction(Model):
    """A pause."""

    seconds: int = wire(0, always=True)

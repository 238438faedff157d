"""Events: what happened to pods, in the kubelet's words. Pure: time comes in as an argument."""

from podsync.events.derive import Subject, on_done, on_plan, on_refusal, on_start
from podsync.events.log import Event, EventLog, EventType

__all__ = ["Event", "EventLog", "EventType", "Subject", "on_done", "on_plan", "on_refusal", "on_start"]

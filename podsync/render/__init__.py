"""Plans, pods and events as text and JSON. Pure: time comes in as an argument."""

from podsync.render.columns import age, human_duration, table
from podsync.render.describe import describe_pod
from podsync.render.events import events_table
from podsync.render.plan import plan_document, plan_text
from podsync.render.pods import pod_summary, pods_table
from podsync.render.printable import printable

__all__ = [
    "age",
    "describe_pod",
    "events_table",
    "human_duration",
    "plan_document",
    "plan_text",
    "pod_summary",
    "pods_table",
    "printable",
    "table",
]

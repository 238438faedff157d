"""A pod and what is there of it -> the v1 PodStatus a kubelet would publish. Pure."""

from podsync.status.compute import NodeStatusInfo, compute

__all__ = ["NodeStatusInfo", "compute"]

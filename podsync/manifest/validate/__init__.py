"""The API's validation of pods, ConfigMaps and Secrets, and a few rules of one host's own.

Everything here takes a decoded, defaulted object and gives every problem at once, in
the API's order and words. Fields that podsync refuses are refused while decoding and
not looked at again.
"""

from __future__ import annotations

from podsync.errors import FieldError
from podsync.manifest.validate.annotations import validate_pod_annotations
from podsync.manifest.validate.config import validate_config_map, validate_secret
from podsync.manifest.validate.containers import validate_containers, validate_image_names
from podsync.manifest.validate.metadata import validate_metadata
from podsync.manifest.validate.podspec import validate_after_security, validate_policies
from podsync.manifest.validate.ports import validate_host_network_ports
from podsync.manifest.validate.security import validate_pod_security
from podsync.manifest.validate.volumes import validate_volumes
from podsync.models import Pod

__all__ = ["validate_config_map", "validate_pod", "validate_secret"]


def validate_pod(pod: Pod) -> list[FieldError]:
    """Every problem of a decoded, defaulted pod, in the API's order; no file or line is filled in."""
    errors: list[FieldError] = []
    spec = pod.spec
    validate_metadata(pod.metadata, "pod", errors)
    if pod.metadata.annotations:
        validate_pod_annotations(pod, errors)
    volumes = validate_volumes(spec.volumes, errors)
    validate_containers(spec, volumes, errors)
    if spec.host_network:
        validate_host_network_ports(spec, errors)
    validate_policies(spec, errors)
    validate_pod_security(spec, errors)
    validate_after_security(spec, errors)
    validate_image_names(spec, errors)
    return errors

"""Whole statuses, side by side with what was observed.

``PODSYNC_REFRESH_GOLDEN=1`` writes the outputs anew; read the difference before keeping it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from tests.unit.status.cases import status_of

INPUTS = sorted((Path(__file__).parent / "golden").glob("*.input.yaml"))


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name.removesuffix(".input.yaml"))
def test_a_status_is_what_a_kubelet_would_publish(path: Path) -> None:
    """Each observed pod gives exactly the PodStatus written beside it."""
    got = status_of(yaml.safe_load(path.read_text())).to_dict()
    expected = path.with_name(path.name.replace(".input.", ".output."))
    if os.environ.get("PODSYNC_REFRESH_GOLDEN"):
        expected.write_text(yaml.safe_dump(got, sort_keys=False))
    assert got == yaml.safe_load(expected.read_text())

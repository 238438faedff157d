"""The tests' own rule: a missing engine is a skip with its reason, and a failure where engines are required."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines import VARIABLES, endpoint

ENGINES = sorted(VARIABLES)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("named", ["not named", "not there"])
def test_missing_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: str, named: str) -> None:
    """Without an engine a test is skipped, saying why; under PODSYNC_REQUIRE_ENGINES it fails."""
    for variable in VARIABLES[engine]:
        monkeypatch.delenv(variable, raising=False)
    if named == "not there":
        monkeypatch.setenv(VARIABLES[engine][0], f"unix://{tmp_path}/no.sock")
    monkeypatch.delenv("PODSYNC_REQUIRE_ENGINES", raising=False)

    with pytest.raises(pytest.skip.Exception, match=engine):
        endpoint(engine)
    monkeypatch.setenv("PODSYNC_REQUIRE_ENGINES", "1")
    with pytest.raises(pytest.fail.Exception, match=engine):
        endpoint(engine)

"""Shipped test tools: what every runtime and source must do, and a whole agent on a virtual clock.

==================  ==================================================================
``conformance``     ``RuntimeConformance``: subclass it for a runtime of your own
``agreement``       ``RuntimeAgreement``: random verbs on the fake and on a real engine
``sources``         ``SourceConformance``: subclass it for a source of your own
``simulation``      ``Simulation``: the agent, its engine and its sources, deterministic
``builders``        pods and specs in one line
``programs``        small programs that real engines run and the fake knows by heart
``faults``          a runtime that fails where it is told to
==================  ==================================================================

They need pytest, and ``agreement`` needs hypothesis: ``pip install pytest hypothesis``.
"""

from __future__ import annotations

import pytest

# the suites' bare asserts should tell both sides, as a test module's own do
pytest.register_assert_rewrite(f"{__name__}.conformance", f"{__name__}.agreement", f"{__name__}.sources")

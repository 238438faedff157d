"""The planner: what should be and what is, to what should be done next. Pure.

``sync`` is the entry; it goes pod by pod. One module a question: ``admission`` (may the
pod run beside the others), ``sandbox`` (does it need a new one), ``init`` and
``containers`` (which are due), ``images`` (is the image there), ``termination`` (how
things end), ``build`` (what the new objects look like).
"""

from podsync.reconciler.settings import NodeSettings
from podsync.reconciler.sync import Reconciler

__all__ = ["NodeSettings", "Reconciler"]

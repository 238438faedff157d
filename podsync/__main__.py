"""``python -m podsync``."""

from podsync.cli import main

main()

"""Benchmarks: podsync beside the same engine calls made bare, beside ``podman kube play``, and at several sizes.

``python -m bench --help`` says how to run them. Nothing here is part of the installed package.
"""

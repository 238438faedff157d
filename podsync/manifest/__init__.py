"""Texts to pods.

``load`` gives the pods of a path, a text or a stream and raises every error at once;
``parse`` never raises and keeps what it found, document by document.
"""

from podsync.manifest.load import KINDS, MAX_BYTES, Document, Parsed, load, parse

__all__ = ["KINDS", "MAX_BYTES", "Document", "Parsed", "load", "parse"]

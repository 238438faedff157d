"""What container engines have in common: the adapters are built from these parts.

====================  ==============================================================
``wire``              HTTP over the engine's socket, for answers that never end
``faults``            the engine's words into podsync's errors
``records``           rows and details of a look, grouped under their sandboxes
``looking``           a cheap look: what cannot change is asked for once
``hints``             the engine's event stream, reconnecting
``frames`` ``logs``   framed output, and lines of a log
``execs``             sessions of commands, and ending one that runs too long
``whose``             which container a process of this host belongs to
``fresh``             what was created here and not yet started
``pause``             the built-in image of a sandbox
``names``             image names
``whose``             which container a process is of
``limits``            what the engine's own process may not do
====================  ==============================================================
"""

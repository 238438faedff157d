"""What container engines have in common: the adapters are built from these parts.

====================  ==============================================================
``wire``              HTTP over the engine's socket, for answers that never end
``shared`` ``crew``   one question for many who ask; calls side by side
``faults``            the engine's words into podsync's errors
``records``           rows and details of a look, grouped under their sandboxes
``looking``           a cheap look: what cannot change is asked for once
``hints``             the engine's event stream, reconnecting
``frames`` ``logs``   framed output, and lines of a log
``execs``             sessions of commands, and ending one that runs too long
``whose``             which container a process of this host belongs to
``fresh``             what was created here and not yet started
``images`` ``pause``  images by name, remembered; the built-in one of a sandbox
``names``             image names
``limits``            what the engine's own process may not do
====================  ==============================================================
"""

"""The core decides: values in, values out.

Not here: files, sockets, processes, the clock, randomness, mitmproxy.
Time, ids and what a disk looks like come in as arguments; what should happen goes out as effects.
"""

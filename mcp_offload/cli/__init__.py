"""The command line: the library used from a shell, and the only reader of the environment.

Exit statuses: 0 done, 1 the request failed, 2 wrong usage or settings, 130 interrupted.
"""

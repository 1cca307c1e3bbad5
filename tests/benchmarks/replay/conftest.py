"""The tests in ``data`` belong to the project that the agent looks at."""

collect_ignore = ["data"]

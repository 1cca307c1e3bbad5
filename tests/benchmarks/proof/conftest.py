"""The scripts are no tests."""

collect_ignore = ["scripts"]

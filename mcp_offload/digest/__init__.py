"""Bounded, true summaries of logs and test reports (pure: bytes in, values out)."""

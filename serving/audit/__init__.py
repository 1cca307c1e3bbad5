"""Audits: which claimed figures no machine can reach, and whether a node keeps the standards."""

"""A shop that sells to several countries."""

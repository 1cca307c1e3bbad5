"""The command line: arguments and environment in, one exit status out. The only reader of the environment."""

"""What fits and how fast it can be: arithmetic over a model, a GPU and a load. Pure."""

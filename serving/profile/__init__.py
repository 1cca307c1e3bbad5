"""What a model, a GPU and a node are: typed values, data shipped with them, and the engine's arguments."""

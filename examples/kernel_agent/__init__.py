"""A LangGraph agent that writes CUDA kernels and is led by what real compilers say. See README.md."""

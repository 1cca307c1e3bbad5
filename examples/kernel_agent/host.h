/* Lets a C compiler take a CUDA kernel and run it, one thread after the other. Barriers cannot be had so. */
#include <math.h>
#include <stdbool.h>

struct host_index {
    unsigned x, y, z;
};
static struct host_index blockIdx, threadIdx, blockDim = {1, 1, 1}, gridDim = {1, 1, 1};

#define __global__
#define __device__ static inline
#define __forceinline__
#define __restrict__ restrict

void __syncthreads(void) __attribute__((error("write the kernel without barriers: they cannot be checked here")));

"""What the agent can be asked for: signatures, and references that results are compared with."""

from __future__ import annotations

from dataclasses import dataclass

ROWS, COLS = 17, 59
COUNT = ROWS * COLS


@dataclass(frozen=True, slots=True)
class Operation:
    """One kernel.

    Attributes:
        name: of the operation and of the kernel.
        says: what it computes, as the planner is told.
        parameters: of the kernel, in C.
        arguments: that the check calls it with.
        threads: how many elements it computes.
        reference: a C expression of element `i` of the result, in the check's own arrays.
    """

    name: str
    says: str
    parameters: str
    arguments: str
    reference: str
    threads: int = COUNT

    @property
    def signature(self) -> str:
        """The line that the kernel must begin with."""
        return f"__global__ void {self.name}({self.parameters})"


_ONE = "const float *a, float *out, int n"
_TWO = "const float *a, const float *b, float *out, int n"

OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("add", "a[i] + b[i]", _TWO, "a, b, out, N", "a[i] + b[i]"),
        Operation("subtract", "a[i] - b[i]", _TWO, "a, b, out, N", "a[i] - b[i]"),
        Operation("multiply", "a[i] * b[i]", _TWO, "a, b, out, N", "a[i] * b[i]"),
        Operation(
            "scale", "alpha * a[i]", "const float *a, float *out, float alpha, int n",
            "a, out, 1.5f, N", "1.5f * a[i]",
        ),
        Operation(
            "saxpy", "alpha * a[i] + b[i]",
            "const float *a, const float *b, float *out, float alpha, int n",
            "a, b, out, 1.5f, N", "1.5f * a[i] + b[i]",
        ),
        Operation("relu", "a[i], or zero where it is negative", _ONE, "a, out, N", "a[i] > 0 ? a[i] : 0"),
        Operation(
            "clip", "a[i], kept between lo and hi",
            "const float *a, float *out, float lo, float hi, int n",
            "a, out, -2.0f, 3.0f, N", "a[i] < -2 ? -2 : a[i] > 3 ? 3 : a[i]",
        ),
        Operation("reverse", "the vector from its end", _ONE, "a, out, N", "a[N - 1 - i]"),
        Operation(
            "transpose", "a matrix of rows x cols as cols x rows",
            "const float *a, float *out, int rows, int cols, int n",
            f"a, out, {ROWS}, {COLS}, N", f"a[(i % {ROWS}) * {COLS} + i / {ROWS}]",
        ),
        Operation(
            "row_sum", "the sum of each row of a matrix of n rows and cols columns",
            "const float *a, float *out, int cols, int n",
            f"a, out, {COLS}, N", f"row_sum(i, {COLS})", threads=ROWS,
        ),
    )
}  # fmt: skip

_CHECK = """\
#include <stdio.h>
#include "kernel.cu"

enum {{ N = {threads}, COUNT = {count}, PAD = 512 }};
static float a[COUNT], b[COUNT], out[COUNT + PAD];

static inline float row_sum(int row, int cols) {{
    float sum = 0;
    for (int j = 0; j < cols; j++) sum += a[row * cols + j];
    return sum;
}}

int main(void) {{
    for (int i = 0; i < COUNT; i++) {{
        a[i] = (i * 37 % 101 - 50) / 8.0f;
        b[i] = (i * 53 % 89 - 44) / 16.0f;
    }}
    for (int i = 0; i < COUNT + PAD; i++) out[i] = -12345.0f;
    blockDim.x = 256;
    gridDim.x = (N + 255) / 256;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
            {name}({arguments});
    for (int i = 0; i < N; i++) {{
        float expected = {reference};
        if (!(fabsf(out[i] - expected) <= 1e-5f * fabsf(expected) + 1e-6f)) {{
            printf("kernel.cu:1: error: out[%d] is %g, not %g\\n", i, out[i], expected);
            return 1;
        }}
    }}
    for (int i = N; i < COUNT + PAD; i++)
        if (out[i] != -12345.0f) {{
            printf("kernel.cu:1: error: out[%d] was written, and out has %d elements\\n", i, N);
            return 1;
        }}
    return 0;
}}
"""


def check_program(operation: Operation) -> str:
    """A C program that runs kernel.cu, thread by thread, and compares what it computed with the reference."""
    return _CHECK.format(
        threads=operation.threads,
        count=COUNT,
        name=operation.name,
        arguments=operation.arguments,
        reference=operation.reference,
    )

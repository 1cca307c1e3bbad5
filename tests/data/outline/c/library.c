#ifndef LIBRARY_C
#define LIBRARY_C
#define LIMIT 10
#define MAX(a, b) \
    ((a) > (b) ? (a) : (b))

struct point { int x, y; };
typedef struct { struct inner { int z; } in; } pair_t;
typedef int (*callback)(void *, int);
enum colour { RED, GREEN };
union number { int i; float f; };

/* Opens it. */
LIB_API int lib_open(const char *name, int flags);
int lib_open(const char *name, int flags) {
    const char *brace = "{";
    char quote = '"'; // }
    if (flags) {
}
    return 0;
}
LIB_PRIVATE LIB_NOINLINE struct point *lib_find(
    struct point *all, size_t n)
{
    return all;
}
LIB_EXTERN(void) lib_close(struct point *p);
static const char *const names[] = { "a", "b" }, *last;
void (*handler)(int) = 0;
extern int errors;
#endif

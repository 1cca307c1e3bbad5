int before(void) { return 0; }

int within_root(const char *p)
{
#ifdef _WIN32
    if (a(p) && b(p)) {
        log_it();
#else
    if (c(p)) {
#endif
        return 1;
    }
    return 0;
}

#ifdef WIDE
int sum(int a, int b)
#else
long sum(long a, long b)
#endif
{
    return a + b;
}

#if HAVE_FAST
int pick(void) { return 1; }
#else
int pick(void) { return 2; }
#endif

#if 0
int dead(void) {
#endif

int after(void) { return 2; }

LIB_EXTERN(void) close_pool(Pool *pool);

LIB_INLINE(size_t) bound(Stream s, size_t n)
{
    return n;
}

LOCAL(struct record *) handle(Stream s) MAY_EXIT
{
    return 0;
}

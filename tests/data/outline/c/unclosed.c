int broken(void)
{
    call((1;
}

int fine(void)
{
    return 1;
}

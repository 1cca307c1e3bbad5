#define START_TEXT __attribute__((section(".init")))
typedef unsigned int U32;

START_TEXT U32 read_config(void)
{
    return 0;
}

START_TEXT int plain_ret(void) { return 1; }

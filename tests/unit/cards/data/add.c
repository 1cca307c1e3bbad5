extern int puts(const char *);
int add(int a, int b) { puts("add"); return a + b; }

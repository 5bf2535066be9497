/* main.c - the table of commands. */
int main(void) { return 0; }

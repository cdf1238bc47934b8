/* The program `solve` for the fuzzers. */
int solve_main(int argc, char **argv);
#define main solve_main
#include "bench/solve.c"

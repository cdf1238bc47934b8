/* The program `meshgen` for the fuzzers. */
int meshgen_main(int argc, char **argv);
#define main meshgen_main
#include "meshgen/meshgen.c"

/* Fields in the VTU files of two runs. */
#ifndef FIELDS_H
#define FIELDS_H

/* Compares NAME_0002.vtu, the second step's file, of two folders: doubles may differ by `bound` of the
 * largest of their array, everything else must be equal. */
void compare_fields(const char *folder_a, const char *folder_b, const char *name, double bound);

#endif

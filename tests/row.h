/* A row of results for tests of rows and tables: nine samples of 1 to 9 ms. */
#ifndef TESTS_ROW_H
#define TESTS_ROW_H

#include "common/report/row.h"

fe_row some_row(void);

#endif

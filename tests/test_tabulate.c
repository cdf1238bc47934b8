/* Tables of rows, as bench/table.awk and bench/scaling.awk make them. */
#include <stdlib.h>
#include <string.h>

#include "tests/common.h"
#include "tests/row.h"

/* A file of rows, and the tables of it once all rows are written. */
static FILE *open_rows(void)
{
    char path[FOLDER_LENGTH + 16];
    snprintf(path, sizeof path, "%s/kernels.csv", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(FE_ROW_COLUMNS "\n", file);
    return file;
}
static char *table_of(FILE *rows)
{
    fclose(rows);
    return read_success(
        "LC_ALL=C awk -f results/csv.awk -f results/break_even.awk -f bench/table.awk '%s/kernels.csv' 2>&1",
        test_folder);
}

/* A comma or a quote in a name shifts nothing: awk reads it as a semicolon. */
static void test_names_shift_no_columns(void **state)
{
    (void)state;
    FILE *file = open_rows();
    fe_row row = some_row();
    row.mesh = "mesh, \"mit\" Komma";
    fe_row_write(file, &row);
    char *table = table_of(file);
    assert_holds(table, "## tet4 on host, mesh; \"mit\" Komma, 1000 DoF: MDoF/s");
    assert_holds(table, "| `v` |  |  |  | 0.200 (0.125–0.500) |");
    free(table);
}

/* Rows of other conditions than short samples have no place in a table of these. */
static void test_tables_are_of_short_samples(void **state)
{
    (void)state;
    static const char *const conditions[] = {"burst", "sustained", "cold"};
    FILE *file = open_rows();
    fe_row row = some_row();
    for (int i = 0; i < 3; i++) {
        row.condition = conditions[i];
        row.seconds.median *= 1 << i, row.seconds.low *= 1 << i, row.seconds.high *= 1 << i;
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(table, "| `v` |  |  |  | 0.200 (0.125–0.500) |");
    free(table);
}

/* Three strategies: the intervals of a and b overlap in jacvec and not in residual, where only b is
 * reproducible; c failed. */
static void test_table_names_a_winner_only_where_intervals_part(void **state)
{
    (void)state;
    static const struct {
        const char *variant, *operation, *status;
        double median, low, high;
        int deterministic;
    } rows[] = {{"a", "residual", "ok", 1.0e-3, 0.9e-3, 1.1e-3, 0},
                {"b", "residual", "ok", 2.0e-3, 1.9e-3, 2.1e-3, 1},
                {"a", "jacvec", "ok", 1.0e-3, 0.9e-3, 1.3e-3, 1}, /* by luck */
                {"b", "jacvec", "ok", 1.4e-3, 1.2e-3, 1.5e-3, 1},
                {"c", "residual", "check_failed", 0, 0, 0, -1},
                {"c", "jacvec", "out_of_memory", 0, 0, 0, -1},
                {"bound", "jacvec", "ok", 0.9e-3, 0.9e-3, 0.9e-3, 1}}; /* its name up to schema 2 */
    FILE *file = open_rows();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fe_row row = some_row();
        row.variant = rows[i].variant, row.operation = rows[i].operation, row.status = rows[i].status;
        row.deterministic = rows[i].deterministic;
        row.seconds = (fe_statistics){9, rows[i].median, rows[i].low, rows[i].high, rows[i].low};
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(table, "## tet4 on host, 1000 DoF: MDoF/s");
    assert_holds(table, "rcm order, 25 % plastic, scattered.");
    assert_holds(table, "| `a` | **1.000 (0.909–1.111)** |  |  | 1.000 (0.769–1.111) |  | 4 | 0 | 500.00 |");
    assert_holds(table, "| `b` | 0.500 (0.476–0.526) |  |  | 0.714 (0.667–0.833) |");
    assert_holds(table, "| `c` | check_failed |  |  | out_of_memory |");
    assert_holds(table, "| `element_only` |  |  |  | 1.111 (1.111–1.111) † |");
    assert_holds(table, "| *ceiling* | 1.000 |  |  | 1.000 |");
    assert_holds(table, "\n†: above its ceiling.");
    assert_null(strstr(table, "(0.909–1.111) †")); /* a is at its ceiling */
    assert_holds(table, " | not residual |\n");    /* a */
    assert_holds(table, " | yes |\n| `c` |");
    assert_holds(table, " |  |\n| `element_only` |"); /* c: unknown */
    assert_holds(
        table,
        "| *best reproducible / best of all* | 0.50 (0.43–0.58) `b` |  |  | 0.71 (0.60–1.08) `b` |  |");
    free(table);
}

/* A row of a box in the order auto, all plastic, with an interval of a tenth on each side. */
static fe_row plastic_row(double median)
{
    fe_row row = some_row();
    row.mesh = "box5-distorted", row.order = "auto", row.numbering = "bisection";
    row.plastic = 1.0, row.plastic_pattern = "clustered";
    row.seconds = (fe_statistics){9, median, 0.9 * median, 1.1 * median, median};
    return row;
}

/* Rows of mixed and single precision do not mix with those of double precision; a table compares them. */
static void test_table_compares_precisions(void **state)
{
    (void)state;
    static const struct {
        const char *precision;
        double median, error;
    } rows[] = {{"double", 4e-3, 1e-15}, {"mixed", 2e-3, 3e-6}, {"single", 1e-3, 4e-6}};
    FILE *file = open_rows();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fe_row row = plastic_row(rows[i].median);
        row.precision = rows[i].precision, row.error = rows[i].error;
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(table, "| `v` |  |  |  | 0.250 (0.227–0.278) |  | 4 | 0 | 500.00 | 1.0e-15 |");
    assert_holds(table, "## tet4 on host, 1000 DoF: jacvec in each precision, MDoF/s");
    assert_holds(
        table, "| `v` | 0.250 (0.227–0.278) | 0.500 (0.455–0.556) | 1.000 (0.909–1.111) | 2.00 (1.64–2.44) | "
               "4.00 (3.27–4.89) | 3.0e-06 | 4.0e-06 |");
    assert_null(strstr(table, "over meshes"));
    free(table);
}

/* Nor do rows of another law of hardening, which would be the slowest here; a table compares them, by the
 * operations that return stresses. */
static void test_table_compares_laws(void **state)
{
    (void)state;
    static const char *const operations[3] = {"residual", "material", "jacvec"};
    static const double medians[6] = {2e-3, 4e-3, 1e-3, 8e-3, 4e-3, 5e-3}; /* linear, voce, linear, ... */
    FILE *file = open_rows();
    for (int i = 0; i < 6; i++) {
        fe_row row = plastic_row(medians[i]);
        row.operation = operations[i / 2], row.hardening = i % 2 ? "voce" : "linear";
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(table, "| `v` | 0.500 (0.455–0.556) | 1.000 (0.909–1.111) |  | 0.250 (0.227–0.278) |  |");
    assert_holds(table, "## tet4 on host, 1000 DoF: laws of hardening, MDoF/s");
    assert_holds(table, "| variant | residual linear | residual voce | voce / linear | material linear | "
                        "material voce | voce / linear |");
    assert_holds(table, "| `v` | 0.500 (0.455–0.556) | 0.250 (0.227–0.278) | 0.50 (0.41–0.61) | "
                        "1.000 (0.909–1.111) | 0.125 (0.114–0.139) | 0.12 (0.10–0.15) |");
    assert_null(strstr(table, "over meshes"));
    free(table);
}

/* Energies have a table at each size that has any, rows without them none. */
static void test_table_has_energies(void **state)
{
    (void)state;
    FILE *file = open_rows();
    for (int i = 0; i < 4; i++) {
        fe_row row = some_row();
        row.variant = i == 3 ? "w" : "v", row.operation = i == 1 ? "jacvec_elastic" : "jacvec";
        row.n_dof = i == 2 ? 2000 : 1000, row.energy.nj = i == 0 ? 23.456 : i == 1 ? 7.5 : 0.0;
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(
        table, "\n## tet4 on host, 1000 DoF: energy, nJ/DoF\n\nd, 2 threads, 9 repetitions, rcm order, 25 % "
               "plastic, scattered.\n\n"
               "| variant | residual | material | jacvec_elastic | jacvec | diagonal |\n"
               "|---|---:|---:|---:|---:|---:|\n| `v` |  |  | 7.500 | 23.46 |  |\n");
    assert_null(strstr(table, "2000 DoF: energy"));
    free(table);
}

/* Meshes that are no cubes have a table for each size, with the ratio to the box of nearest size; their
 * orders, shares of plastic elements and precisions have tables as those of boxes do. */
static void test_table_has_all_meshes(void **state)
{
    (void)state;
    static const struct {
        const char *mesh, *order, *precision;
        double dof, median, plastic;
    } rows[] = {{"box5-distorted", "auto", "double", 1000, 1e-3, 1},
                {"box9-distorted", "auto", "double", 3000, 1e-3, 1},
                {"irregular", "auto", "double", 2500, 1e-3, 1},
                {"irregular", "auto", "double", 1200, 2e-3, 1},
                {"irregular", "random", "double", 1200, 4e-3, 1},
                {"irregular", "auto", "double", 1200, 1e-3, 0.5},
                {"irregular", "auto", "mixed", 1200, 1e-3, 1},
                {"box5x6x9-distorted", "auto", "double", 1100, 1e-3, 1}};
    FILE *file = open_rows();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fe_row row = some_row();
        const double median = rows[i].median;
        row.precision = rows[i].precision, row.mesh = rows[i].mesh, row.n_dof = (int64_t)rows[i].dof;
        row.order = rows[i].order, row.plastic = rows[i].plastic, row.plastic_pattern = "clustered";
        row.seconds = (fe_statistics){9, median, median, median, median};
        fe_row_write(file, &row);
    }
    char *table = table_of(file);
    assert_holds(table, "## tet4 on host, irregular, 1200 DoF, and the box of 1000 DoF: MDoF/s");
    assert_holds(
        table,
        "| variant | residual | material | jacvec_elastic | of the box | jacvec | of the box | diagonal |");
    assert_holds(table, "| `v` |  |  |  |  | 0.600 (0.600–0.600) | 0.60 (0.60–0.60) |  |");
    assert_holds(table, "## tet4 on host, irregular, 2500 DoF, and the box of 3000 DoF: MDoF/s");
    assert_holds(table, "| `v` |  |  |  |  | 2.500 (2.500–2.500) | 0.83 (0.83–0.83) |  |");
    assert_holds(table, "## tet4 on host, box5x6x9-distorted, 1100 DoF, and the box of 1000 DoF: MDoF/s");
    assert_holds(table, "## tet4 on host, irregular, 1200 DoF: jacvec over node orders, MDoF/s");
    assert_holds(
        table,
        "## tet4 on host, irregular, 1200 DoF: jacvec over shares of plastic elements, clustered, MDoF/s");
    assert_holds(table, "## tet4 on host, irregular, 1200 DoF: jacvec in each precision, MDoF/s");
    assert_holds(table, "| `v` | 0.600 (0.600–0.600) | 1.200 (1.200–1.200) | 2.00 (2.00–2.00) |");
    free(table);
}

typedef struct scaling_row {
    int ranks;
    const char *variant, *operation, *status;
    double median, low, high, bytes;
} scaling_row;

/* What awk has to load for the table and for the figure. */
#define SCALING_TABLE "-f results/scaling_case.awk -f bench/scaling.awk"
#define SCALING_FIGURE                                                                                       \
    "-v backend=host -f results/scaling_case.awk -f plots/scaling.awk variants/variants.def"

/* An empty scaling.csv for rows, and its path. */
static FILE *open_scaling(char path[FOLDER_LENGTH + 16])
{
    snprintf(path, FOLDER_LENGTH + 16, "%s/scaling.csv", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(FE_ROW_COLUMNS "\n", file);
    return file;
}

static char *scaling_table(const scaling_row *rows, size_t n)
{
    char path[FOLDER_LENGTH + 16];
    FILE *file = open_scaling(path);
    for (size_t i = 0; i < n; i++) {
        fe_row row = some_row();
        row.ranks = rows[i].ranks, row.variant = rows[i].variant, row.operation = rows[i].operation;
        row.mesh = row.ranks == 1 ? "strong-1x1x1-threads-box4x4x4" : "strong-1x2x2-threads-box4x4x4";
        row.status = rows[i].status, row.bytes_moved = rows[i].bytes, row.threads = 1;
        row.seconds = (fe_statistics){9, rows[i].median, rows[i].low, rows[i].high, rows[i].low};
        fe_row_write(file, &row);
    }
    fclose(file);
    return read_success("LC_ALL=C awk " SCALING_TABLE " '%s' 2>&1", path);
}

/* On 4 ranks a hides a quarter of its exchange; with b the intervals with and without it overlap; c has no
 * times there, and a status instead. */
static void test_scaling_table_compares_with_one_rank(void **state)
{
    (void)state;
    static const scaling_row rows[] = {{1, "a", "jacvec", "ok", 8e-3, 7e-3, 9e-3, 0},
                                       {4, "a", "jacvec", "ok", 4e-3, 3.9e-3, 4.1e-3, 0},
                                       {4, "a", "jacvec_local", "ok", 2.5e-3, 2.4e-3, 2.6e-3, 0},
                                       {1, "b", "jacvec", "ok", 8e-3, 7e-3, 9e-3, 0},
                                       {4, "b", "jacvec", "ok", 3e-3, 2.9e-3, 3.1e-3, 0},
                                       {4, "b", "jacvec_local", "ok", 2.8e-3, 2.7e-3, 2.95e-3, 0},
                                       {1, "b", "gmres_new", "ok", 9e-3, 9e-3, 9e-3, 0},
                                       {4, "b", "gmres_new", "ok", 6e-3, 5e-3, 8e-3, 0},
                                       {1, "c", "jacvec", "ok", 8e-3, 8e-3, 8e-3, 0},
                                       {4, "c", "jacvec", "out_of_memory", 0, 0, 0, 0},
                                       {4, "none", "exchange", "ok", 2e-3, 1.9e-3, 2.1e-3, 8e6},
                                       {4, "none", "reduce1", "ok", 5e-6, 4e-6, 6e-6, 12},
                                       {4, "none", "reduce32", "ok", 8e-6, 7e-6, 9e-6, 384}};
    char *table = scaling_table(rows, sizeof rows / sizeof *rows);
    assert_holds(table, "## tet4 on host, strong: 1000 DoF in all");
    assert_holds(table, "d, 1 thread per rank, rcm order, 9 repetitions.");
    assert_holds(table,
                 "| variant | operation | 1 rank, ms | 4 ranks, ms | speed-up on 4 | communication on 4 | "
                 "exchange hidden on 4 |");
    assert_holds(table, "| `a` | `jacvec` | 8.000 (7.000–9.000) | 4.000 (3.900–4.100) | 2.00 (1.71–2.31) | "
                        "38 % (33 to 41) | 25 % (11 to 38) |");
    assert_holds(table, "| 2.67 (2.26–3.10) | cannot tell, at most 13 % | cannot tell, at least 79 % |\n");
    assert_holds(
        table,
        "| `b` | `gmres_new` | 9.000 (9.000–9.000) | 6.000 (5.000–8.000) | 1.50 (1.12–1.80) |  |  |\n");
    assert_holds(table, "| `c` | `jacvec` | 8.000 (8.000–8.000) | out_of_memory |  |  |  |\n");
    assert_holds(table, "| 4 | 1x2x2, threads | 1000 | `exchange` | 8000000 | 2000 (1900–2100) | 4 | 4 |\n");
    assert_holds(table, "| `reduce1` | 8 | 5.000 (4.000–6.000) |  |  |\n");
    assert_holds(table, "| `reduce32` | 256 | 8.000 (7.000–9.000) | 0.032 | 0.048 |\n");
    free(table);
}

/* Meshes that are no boxes, and sizes of them, are told apart, in the table and in the figure. */
static void test_scaling_tells_meshes_apart(void **state)
{
    (void)state;
    static const struct {
        const char *mesh;
        int64_t n_dof;
        double one, two;
    } rows[] = {{"irregular", 5000, 8e-3, 4e-3},
                {"irregular", 9000, 9e-3, 6e-3},
                {"bracket_tet4_coarse-refined1", 7000, 5e-3, 4e-3},
                {"box4x4x4", 375, 3e-3, 2e-3}};
    char path[FOLDER_LENGTH + 16], mesh[96];
    FILE *file = open_scaling(path);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int ranks = 1; ranks <= 2; ranks++) {
            fe_row row = some_row();
            const double t = ranks == 1 ? rows[i].one : rows[i].two;
            snprintf(mesh, sizeof mesh, "strong-1x1x%d-threads-%s", ranks, rows[i].mesh);
            row.ranks = ranks, row.variant = "a", row.operation = "gmres_cgs2", row.mesh = mesh;
            row.n_dof = rows[i].n_dof, row.seconds = (fe_statistics){9, t, t, t, t};
            fe_row_write(file, &row);
        }
    fclose(file);
    char *table = read_success("LC_ALL=C awk " SCALING_TABLE " '%s' 2>&1", path);
    assert_holds(table, "## tet4 on host, strong: irregular, 5000 DoF in all\n");
    assert_holds(table, "| `gmres_cgs2` | 8.000 (8.000–8.000) | 4.000 (4.000–4.000) | 2.00 (2.00–2.00) |");
    assert_holds(table, "## tet4 on host, strong: irregular, 9000 DoF in all\n");
    assert_holds(table, "| `gmres_cgs2` | 9.000 (9.000–9.000) | 6.000 (6.000–6.000) | 1.50 (1.50–1.50) |");
    assert_holds(table, "strong: bracket_tet4_coarse-refined1, 7000 DoF in all\n");
    assert_holds(table, "strong: 375 DoF in all\n");
    free(table);
    char *figure = read_success("LC_ALL=C awk " SCALING_FIGURE " '%s' 2>&1", path);
    assert_holds(figure, "kinds = 'strong strong strong strong'");
    assert_holds(figure,
                 "mesh_1 = ''\nsize_1_tet4 = 375\nmesh_2 = 'irregular, '\nsize_2_tet4 = 5000\n"
                 "mesh_3 = 'bracket_coarse-refined1, '\nsize_3_tet4 = 7000\nmesh_4 = 'irregular, '\n");
    assert_holds(figure, "\ntet4 2 a 2 2 2 2\n");
    assert_holds(figure, "\ntet4 4 a 2 1.5 1.5 1.5\n");
    free(figure);
}

/* Times of one number of ranks by two transports are not mixed, neither in the table nor in the figure. */
static void test_scaling_refuses_two_transports(void **state)
{
    (void)state;
    static const char *const cases[] = {"strong-1x1x1-threads-box4x4x4", "strong-1x2x2-nccl-box4x4x4",
                                        "strong-1x2x2-peer-box4x4x4"};
    static const char *const programs[] = {SCALING_TABLE, SCALING_FIGURE};
    for (int n = 2; n <= 3; n++) { /* one transport, then both */
        char path[FOLDER_LENGTH + 16];
        FILE *file = open_scaling(path);
        for (int i = 0; i < n; i++) {
            fe_row row = some_row();
            row.ranks = i ? 4 : 1, row.variant = "a", row.operation = "gmres_cgs2", row.mesh = cases[i];
            row.seconds = (fe_statistics){9, 1e-3, 1e-3, 1e-3, 1e-3};
            fe_row_write(file, &row);
        }
        fclose(file);
        for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
            char *said = read_success("LC_ALL=C awk %s '%s' 2>&1; echo \"code $?\"", programs[i], path);
            assert_holds(said, n == 2 ? "code 0" : "code 1");
            if (n == 3)
                assert_holds(said, "scaling.csv: strong-1x2x2-peer-box4x4x4 has 4 ranks as 1x2x2-nccl, too");
            free(said);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_shift_no_columns),
        cmocka_unit_test(test_tables_are_of_short_samples),
        cmocka_unit_test(test_table_names_a_winner_only_where_intervals_part),
        cmocka_unit_test(test_table_compares_precisions),
        cmocka_unit_test(test_table_compares_laws),
        cmocka_unit_test(test_table_has_energies),
        cmocka_unit_test(test_table_has_all_meshes),
        cmocka_unit_test(test_scaling_table_compares_with_one_rank),
        cmocka_unit_test(test_scaling_tells_meshes_apart),
        cmocka_unit_test(test_scaling_refuses_two_transports),
    };
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}

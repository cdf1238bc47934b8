/* A load step of the problem: its increment in one piece or in several, and what the step's record says of
 * the state that was reached. */
#include "common/problem/state.h"
#include "common/solver/solver_contact.h"

#include <stdio.h>
#include <stdlib.h>

/* The residual was small, so what is not finite here is no answer of the problem: a device has failed. */
static fe_status check_numbers(const fe_step_result *record, int n, const double *value)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(value[i]))
            return fe_fail(FE_FAILED, "load step %d: a number of its result is not finite", record->step);
    return FE_OK;
}

fe_status fe_solver_support_forces(fe_solver *s, double *forces)
{
    fe_device *d = s->device;
    FE_TRY(d->ops->vector.add(d, s->n, s->internal, -1.0, s->external, s->trial));
    FE_TRY(d->ops->vector.take(d, s->supports.n, s->supports.at, s->trial, s->step));
    FE_TRY(d->ops->memory.zero(d, s->n_all * sizeof *forces, forces));
    return d->ops->vector.put(d, s->supports.n, s->supports.at, 1.0, s->step, forces);
}

/* What the increment has added to the plastic strain, and the estimated error of it. */
static fe_status sum_flow(fe_solver *s, fe_step_result *record)
{
    double totals[FE_N_FLOW];
    FE_TRY(fe_flow(&s->problem, s->displacement, s->accepted.displacement, s->output.counted,
                   s->output.partial, s->scalar));
    FE_TRY(fe_comm_sum(s->comm, s->device, FE_N_FLOW, s->scalar));
    FE_TRY(s->device->ops->memory.download(s->device, sizeof totals, s->scalar, totals));
    record->flow += totals[FE_FLOW], record->flow_error += totals[FE_FLOW_ERROR];
    return check_numbers(record, FE_N_FLOW, totals);
}

/* The numbers of a step's summary, which come to the host in one read: integrals and extremes, and behind
 * them the largest displacement, the square of its norm, reactions, supports in x, y, z, and probes. */
enum { WIDTH = FE_N_SUM + FE_N_MAX, LARGEST = WIDTH, SQUARE, REACTIONS };

size_t fe_solver_numbers(const fe_solver *s)
{
    return REACTIONS + (size_t)s->boundary->n_reaction + 3 + 3 * (size_t)s->boundary->n_probe;
}

/* Summed over the ranks; of extremes the largest is taken. */
static fe_status enqueue_numbers(fe_solver *s)
{
    fe_device *d = s->device;
    double *const number = s->scalar;
    FE_TRY(fe_summary(&s->problem, s->displacement, s->output.counted, s->output.partial, number,
                      s->output.fields, s->output.points));
    FE_TRY(d->ops->vector.largest(d, s->n, s->displacement, number + LARGEST));
    const fe_scalar_product square = {s->n, NULL, s->displacement, s->displacement};
    FE_TRY(d->ops->vector.dots(d, 1, &square, number + SQUARE));
    FE_TRY(d->ops->vector.take_sums(d, &s->reactions, s->internal, s->external, number + REACTIONS));
    FE_TRY(
        d->ops->vector.take_sums(d, &s->probes, s->displacement, NULL, number + REACTIONS + s->reactions.n));
    FE_TRY(fe_comm_sum(s->comm, d, FE_N_SUM, number));
    FE_TRY(fe_comm_largest(s->comm, d, FE_N_MAX + 1, number + FE_N_SUM));
    return fe_comm_sum(s->comm, d, (int)fe_solver_numbers(s) - SQUARE, number + SQUARE);
}

static fe_status record_numbers(fe_solver *s, fe_step_result *record, int whole, const double *number)
{
    const int n = s->boundary->n_reaction;
    const double *const reaction = number + REACTIONS, *const probe = reaction + n + 3;
    record->max_abs_u = number[LARGEST], record->norm_u = sqrt(number[SQUARE]);
    record->max_peeq = number[FE_N_SUM + FE_MAX_PEEQ], record->max_mises = number[FE_N_SUM + FE_MAX_MISES];
    record->max_gradient = number[FE_N_SUM + FE_MAX_GRADIENT];
    record->elastic_energy = number[FE_SUM_ELASTIC_ENERGY], record->int_peeq = number[FE_SUM_PEEQ];
    record->plastic_work = s->plastic_work + number[FE_SUM_PLASTIC_WORK];
    record->plastic_gp = (int64_t)(number[FE_SUM_PLASTIC_POINTS] + 0.5);
    FE_TRY(check_numbers(record, REACTIONS + n + 3, number));
    for (int i = 0; i < n + 3; i++)
        *(i < n ? &record->reaction[i] : &record->total_reaction[i - n]) = reaction[i];
    for (int i = 0; i < 3 * s->boundary->n_probe && whole; i++) record->probe[i / 3][i % 3] = probe[i];
    return FE_OK;
}

/* Reactions, integrals and, of a whole step, probes of the state that was just accepted. `record` is rank 0's
 * own. */
static fe_status summarize(fe_solver *s, fe_step_result *record, int whole)
{
    const size_t n = fe_solver_numbers(s);
    double *number = NULL;
    FE_TRY(enqueue_numbers(s));
    FE_ALLOCATE(number, n, "summary");
    fe_status status = s->device->ops->memory.download(s->device, n * sizeof *number, s->scalar, number);
    const int flows = number[FE_SUM_PLASTIC_WORK] > 0.0;
    if (status == FE_OK) status = record_numbers(s, record, whole, number);
    free(number);
    FE_TRY(status);
    if (flows) FE_TRY(sum_flow(s, record));
    return fe_solver_contact_summarize(s, record);
}

fe_status fe_solver_accept(fe_solver *s, const double *to)
{
    fe_device *d = s->device;
    fe_problem_accept(&s->problem);
    FE_TRY(fe_solver_contact_accept(s));
    for (int p = 0; p < s->boundary->n_path; p++) {
        s->accepted.change[p] = to[p] - s->accepted.factor[p];
        s->accepted.factor[p] = to[p];
    }
    FE_TRY(
        d->ops->vector.add(d, s->n, s->displacement, -1.0, s->accepted.displacement, s->accepted.increment));
    return d->ops->vector.copy(d, s->n_all, s->displacement, s->accepted.displacement);
}

/* Pieces of a load step are counted in 256ths of it. Two pieces in a row that took no more Newton iterations
 * than EASY are followed by one of twice the size. */
enum { WHOLE = 256, EASY = 8 };

/* A load step that is taken in pieces. */
typedef struct pieces {
    int done, size;   /* accepted; of the next one */
    int easy;         /* pieces in a row that were */
    double carriable; /* no more of the step can be carried; at most 1 */
    int limited;      /* because a piece has met the limit load */
} pieces;

/* The piece up to `next` failed: half of it comes next, or less where a limit load is known. 0: no smaller
 * one can be carried. */
static int halve(const fe_solver *s, pieces *p, int next)
{
    const int most = (int)(p->carriable * WHOLE) - p->done;
    p->size = (next - p->done) / 2, p->easy = 0;
    if (p->limited && p->size > most) p->size = most;
    if (p->size > 0 && s->comm->rank == 0)
        fprintf(stderr, "solve: %s; the increment is halved: %.6g of the step is carried, %.6g comes next\n",
                fe_message(), (double)p->done / WHOLE, (double)p->size / WHOLE);
    return p->size > 0;
}

/* A piece that is too close to the limit load for Newton's method has failed for that load. */
static fe_status end_pieces(fe_status status, const pieces *p, fe_step_result *record, fe_ending *ending)
{
    char message[FE_MESSAGE_LENGTH];
    snprintf(message, sizeof message, "%s", fe_message());
    if (!p->limited) return fe_fail(status, "%s; %.6g of the step was carried", message, record->carried);
    *ending = FE_ENDING_LIMIT_LOAD, record->carriable = p->carriable;
    return fe_fail(
        status,
        "load step %d: limit load: displacements grow without bound: %.6g of the step was carried, "
        "at most %.4g can be",
        record->step, record->carried, p->carriable);
}

static fe_status accept_piece(fe_solver *s, const double *to, fe_step_result *record)
{
    FE_TRY(summarize(s, record, 0));
    s->plastic_work = record->plastic_work;
    record->substeps++;
    return fe_solver_accept(s, to);
}

/* From the accepted factors to `to`; with --substep in pieces, where the whole fails. */
static fe_status advance(fe_solver *s, const double *to, double *from, double *target, fe_step_result *record,
                         fe_ending *ending)
{
    const int n_path = s->boundary->n_path;
    pieces p = {.size = WHOLE, .carriable = 1.0};
    for (int i = 0; i < n_path; i++) from[i] = s->accepted.factor[i];
    while (p.done < WHOLE) {
        const int next = p.size < WHOLE - p.done ? p.done + p.size : WHOLE,
                  before = record->newton_iterations;
        for (int i = 0; i < n_path; i++)
            target[i] = next == WHOLE ? to[i] : from[i] + (to[i] - from[i]) * next / WHOLE;
        const fe_status status = fe_newton_step(s, target, record, ending);
        const int again = *ending == FE_ENDING_LIMIT_LOAD || *ending == FE_ENDING_NOT_CONVERGED ||
                          (*ending == FE_ENDING_OUT_OF_REACH && p.limited);
        if (status != FE_OK && !(s->options->substep && again)) return status;
        if (*ending == FE_ENDING_LIMIT_LOAD) {
            const double found = (p.done + record->carriable * (next - p.done)) / WHOLE;
            p.limited = 1, p.carriable = fmin(p.carriable, found);
        }
        if (status != FE_OK && halve(s, &p, next)) continue;
        if (status != FE_OK) return end_pieces(status, &p, record, ending);
        if (next < WHOLE) FE_TRY(accept_piece(s, target, record));
        p.easy = record->newton_iterations - before <= EASY ? p.easy + 1 : 0;
        if (p.easy == 2) p.size *= 2, p.easy = 0;
        p.done = next;
        record->carried = (double)p.done / WHOLE;
    }
    return FE_OK;
}

/* Said at the first step that leaves the range of small strains, and where the gradient has doubled since. */
static void warn_of_strains(fe_solver *s, const fe_step_result *record)
{
    if (s->comm->rank || record->max_gradient <= fmax(fe_largest_gradient, 2.0 * s->warned.gradient)) return;
    s->warned.gradient = record->max_gradient;
    fprintf(stderr,
            "solve: load step %d: the displacement gradient is up to %.3g: small strains hold below %g\n",
            record->step, record->max_gradient, fe_largest_gradient);
}

/* Said of the first step whose plastic strain is far off, and where that has doubled since. */
static void warn_of_turns(fe_solver *s, const fe_step_result *record)
{
    const double error = fe_increment_error(record);
    if (s->comm->rank || error <= fmax(fe_largest_increment_error, 2.0 * s->warned.error)) return;
    s->warned.error = error;
    fprintf(stderr,
            "solve: load step %d: the plastic flow turns within the increment, which is off by about %.2g of "
            "the plastic strain that it adds: more load factors lead there more exactly\n",
            record->step, error);
}

fe_status fe_solver_load_step(fe_solver *s, const double *to, fe_step_result *record, fe_ending *ending)
{
    double *factors = NULL;
    const int n_path = s->boundary->n_path;
    FE_ALLOCATE(factors, 2 * (size_t)n_path, "load factors");
    fe_status status = advance(s, to, factors, factors + n_path, record, ending);
    free(factors);
    if (status == FE_OK) status = summarize(s, record, 1);
    if (status == FE_OK) warn_of_strains(s, record);
    if (status == FE_OK) warn_of_turns(s, record);
    s->plastic_work = record->plastic_work;
    return status;
}

/* The least of numbers that several threads find. */
#ifndef FE_LOWER_H
#define FE_LOWER_H

/* Makes *lowest the lower one of itself and a number, while other threads do the same. */
static inline void fe_lower(int *lowest, int number)
{
    int before = __atomic_load_n(lowest, __ATOMIC_RELAXED);
    while (number < before &&
           !__atomic_compare_exchange_n(lowest, &before, number, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

#endif

# Shared by bench/table.awk, results/tables.awk and plots/break_even.awk.
#
# Products after which a strategy has taken no longer than another one, set-ups included: `more`, the seconds that its
# set-up takes longer, over `saved`, the seconds that its product takes less, rounded up. 0: at once; empty: never.
function break_even(more, saved,    n) {
    if (!(saved > 0)) return ""
    n = more > 0 ? more / saved : 0
    return n == int(n) ? n : int(n) + 1
}
# Seconds that the set-up of one strategy takes longer than that of another. A matrix has to be assembled, too, which
# `material` does: where one of the two is assembled, both set-ups are counted with one call of it.
function more_setup(variant, setup, material, other, other_setup, other_material) {
    return setup - other_setup + (variant " " other ~ /assembled_/ ? material - other_material : 0)
}

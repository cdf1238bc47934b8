# Shared by bench/scaling.awk, results/tables.awk and plots/scaling.awk, whose END has to leave where `failed` is set.
#
# The mesh of a case strong-1x1x2-threads-box14x14x14 or strong-1x1x2-threads-irregular, whose name may have hyphens.
function mesh_of(text) { sub(/^[^-]*-[^-]*-[^-]*-/, "", text); return text }
# Ends where `ranks` ranks of the same mesh, `key`, stood in another grid before, or communicated in another way: their
# times are not to be mixed.
function one_way(key, text, ranks,    part, form) {
    split(text, part, "-"); form = part[2] "-" part[3]
    if ((key, ranks) in form_of && form_of[key, ranks] != form) {
        printf "%s: %s has %d ranks as %s, too: each needs a file of its own\n", FILENAME, text, ranks, form_of[key, ranks] >"/dev/stderr"
        failed = 1; exit 1
    }
    form_of[key, ranks] = form
}

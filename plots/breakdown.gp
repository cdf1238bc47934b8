# Where the time of a Newton iteration goes: a row for each case and element, a column for each preconditioner, a bar for
# each strategy with a piece for each phase.
n_column = words(columns)
panel_width = 420
panel_height = 200
step = panel_height + 110
width = 60 + (n_column < 2 ? 2 : n_column) * panel_width
bottom = 34 + n_row * step
with_ceiling = 0
load "plots/style.gp"

set boxwidth 0.7
set xrange [0.4 : words(strategies) + 0.6]
set grid noxtics
set xtics ("" 1e30) scale 0 rotate by -25
do for [i = 1:words(strategies)] { set xtics add (word(strategies, i) i) }
do for [r = 1:n_row] {
    do for [c = 1:n_column] {
        if (strstrt(panels, sprintf(" %d.%d ", r, c))) {
            set lmargin at screen X(75 + (c - 1) * panel_width)
            set rmargin at screen X(5 + c * panel_width)
            set tmargin at screen Y(34 + (r - 1) * step)
            set bmargin at screen Y(34 + (r - 1) * step + panel_height)
            set title value(sprintf("case_%d", r)).", ".element_name(value(sprintf("element_%d", r))).", ".word(columns, c) \
                offset 0,-0.5 textcolor rgb ink
            set label 1 "ms per Newton iteration" at screen X(22 + (c - 1) * panel_width),Y(34 + (r - 1) * step + 0.5 * panel_height) \
                center rotate textcolor rgb ink
            set yrange [0 : 1.05 * value(sprintf("most_%d_%d", r, c))]
            plot for [k = 1:words(variants)] $pieces using ($1 == r && $2 == c && $4 == k ? $3 : NaN):5:($3 - 0.35):($3 + 0.35):5:6 \
                with boxxyerror lt k fs pattern hatch(k)
            unset label 100
        }
    }
}
load "plots/key.gp"

# An iteration of GMRES over the number of ranks, a row for each element: speed-up on one mesh (strong), and efficiency on
# meshes that grow with the ranks (weak).
n_column = words(kinds)
panel_width = n_column > 2 ? 340 : n_column == 2 ? 420 : 560
panel_height = 250
step = panel_height + 60
width = 20 + n_column * panel_width
bottom = 34 + words(elements) * step + 8
with_ceiling = 1
ceiling_name = "ideal"
load "plots/style.gp"

one_name = backend eq "cuda" ? "GPU" : "rank"

# Strategies stand a little apart, so that their intervals can be told from each other.
octaves = log(most_ranks) / log(2)
apart(v) = 2.0**(0.08 * octaves * (place(v) / (n_variant + 1.0) - 0.5))
set logscale x 2
set xrange [1.12**-octaves : most_ranks * 1.12**octaves]
set xtics ("" 1e30)
do for [n in counts] { set xtics add (n int(n)) }
do for [row = 1:words(elements)] {
    e = word(elements, row)
    do for [c = 1:n_column] {
        if (strstrt(filled, sprintf(" %s.%d ", e, c))) {
            strong = word(kinds, c) eq "strong"
            set lmargin at screen X(75 + (c - 1) * panel_width)
            set rmargin at screen X(5 + c * panel_width)
            set tmargin at screen Y(34 + (row - 1) * step)
            set bmargin at screen Y(34 + (row - 1) * step + panel_height)
            set title element_name(e).", ".word(kinds, c).": ".value("mesh_".c).count(value("size_".c."_".e))." degrees of freedom".(strong ? "" : " a ".one_name) \
                offset 0,-0.5 textcolor rgb ink
            set label 1 (strong ? "speed-up" : "efficiency, %") at screen X(24 + (c - 1) * panel_width), \
                Y(34 + (row - 1) * step + 0.5 * panel_height) center rotate textcolor rgb ink
            set xlabel (row == words(elements) ? (one_name."s") : "") textcolor rgb ink
            if (strong) {
                set logscale y 2
                set yrange [(least < 1 ? least : 1.0) / 1.1 : (most > most_ranks ? most : most_ranks) * 1.1]
                set ytics ("" 1e30)
                do for [k = -6:12] {
                    set ytics add (sprintf("%g", 2.0**k) 2.0**k)
                    if (most_ranks <= 4) { set ytics add (sprintf("%g", 1.5 * 2.0**k) 1.5 * 2.0**k) }
                }
            } else {
                unset logscale y
                set yrange [0 : (most_efficiency > 105 ? most_efficiency : 105) * 1.05]
                set ytics 0,20,1000
            }
            plot "+" using (2**($0 * octaves)):(strong ? 2**($0 * octaves) : 100) every ::0::1 \
                    with lines lc rgb ink dt 2 lw 1.2, \
                for [v in variants] $scaled using \
                    (strcol(1) eq e && $2 == c && strcol(3) eq v ? $4 * apart(v) : NaN):5:6:7 with yerrorlines lt type(place(v))
            unset label 100
        }
    }
}
load "plots/key.gp"

# Loss of orthogonality of GMRES's basis over its number of columns: a well-conditioned system (with multigrid) and an
# ill-conditioned one (without a preconditioner), a line for each method and precision. The base line is that of floats.
panel_width = 430
panel_height = 280
width = 20 + 2 * panel_width
bottom = 34 + panel_height + 68
with_ceiling = 1
ceiling_name = "rounding of floats"
variants = "mgs-double cgs2-double dcgs2-double mgs-single cgs2-single dcgs2-single"
types = "1 2 3 4 5 6"
load "plots/style.gp"
set logscale y
set format y "1e%+03T"
set yrange [1e-16 : 10]
set xrange [0 : *]
do for [c = 1:2] {
    kind = word("multigrid none", c)
    set lmargin at screen X(75 + (c - 1) * panel_width)
    set rmargin at screen X(5 + c * panel_width)
    set tmargin at screen Y(34)
    set bmargin at screen Y(34 + panel_height)
    set title (c == 1 ? "well-conditioned (multigrid)" : "ill-conditioned (no preconditioner)") offset 0,-0.5 textcolor rgb ink
    set label 1 "|I - V^T V|" at screen X(18),Y(34 + 0.5 * panel_height) center rotate textcolor rgb ink
    set xlabel "columns" textcolor rgb ink
    plot 6e-8 with lines lc rgb ink dt 2 lw 1.2, for [k = 1:words(variants)] \
        $loss using (strcol(1) eq kind && strcol(2) eq word(variants, k) ? $3 : NaN):4 with linespoints lt k
    unset label 100
}
load "plots/key.gp"

# Residuals of one load step over the iterations of Newton's method, with and without Anderson acceleration: a column
# for each Jacobian. Steps end at the acceptance, 1e-9.
panel_width = 430
panel_height = 280
width = 20 + 2 * panel_width
bottom = 34 + panel_height + 68
with_ceiling = 1
ceiling_name = "acceptance"
variants = ""
do for [d in depths] { variants = variants." depth-".d }
types = "1 2 3 4 5 6 7 8"
load "plots/style.gp"
set logscale y
set format y "1e%+03T"
set yrange [1e-11 : 10]
do for [c = 1:2] {
    j = word("tangent elastic", c)
    set lmargin at screen X(75 + (c - 1) * panel_width)
    set rmargin at screen X(5 + c * panel_width)
    set tmargin at screen Y(34)
    set bmargin at screen Y(34 + panel_height)
    set title (c == 1 ? "consistent tangent" : "elastic Jacobian (modified Newton)") offset 0,-0.5 textcolor rgb ink
    set label 1 "residual / largest force" at screen X(18),Y(34 + 0.5 * panel_height) center rotate textcolor rgb ink
    set xlabel "iterations" textcolor rgb ink
    if (c == 2) { set logscale x; set xrange [1:*] } else { unset logscale x; set xrange [0:*] }
    plot 1e-9 with lines lc rgb ink dt 2 lw 1.2, for [k = 1:words(depths)] $history using (strcol(1) eq j && $2 == int(word(depths, k)) ? $3 : NaN):4 \
        with linespoints lt k pi (c == 2 ? -8 : 1)
    unset label 100
}
load "plots/key.gp"

# Throughput of jacvec over size: a column for each element, without (top) and with (bottom) the tangent read.
panel_width = 400
panel_height = 250
step = panel_height + 60
width = 60 + words(swept) * panel_width
bottom = 34 + 2 * step + 8
with_ceiling = 1
load "plots/style.gp"

set logscale xy
set xrange [first / 1.3 : last * 1.3]
set yrange [0.9999 * least : 1.0001 * most]
set xtics ("" 1e30)
set ytics ("" 1e30)
do for [k = -4:9] {
    do for [m in "1 2 5"] {
        set ytics add (sprintf("%g", m * 10.0**k) m * 10.0**k)
        if (m == 1 || last < 300 * first) { # more would overlap
            set xtics add (sprintf("%g %s", m * 10.0**(k - (k >= 6 ? 6 : 3)), k >= 6 ? "M" : "k") m * 10.0**k)
        }
    }
}
if (first == last) { set xtics (count(first) first) }
do for [row = 0:1] {
    o = word("jacvec_elastic jacvec", row + 1)
    do for [c = 1:words(swept)] {
        e = word(swept, c)
        set lmargin at screen X(75 + (c - 1) * panel_width)
        set rmargin at screen X(25 + c * panel_width)
        set tmargin at screen Y(34 + row * step)
        set bmargin at screen Y(34 + row * step + panel_height)
        set title element_name(e).": ".operation_name(o) offset 0,-0.5 textcolor rgb ink
        set label 1 unit at screen X(18),Y(34 + row * step + 0.5 * panel_height) center rotate textcolor rgb ink
        set xlabel (row == 1 ? "degrees of freedom" : "") textcolor rgb ink
        plot NaN, for [v in variants] \
            $sizes using (strcol(1) eq e && strcol(2) eq o && strcol(3) eq v ? $4 : NaN):5:6:7 \
                with yerrorlines lt type(place(v)), \
            $ceilings using (strcol(1) eq e && strcol(2) eq o ? $3 : NaN):4 with lines lc rgb ink dt 2 lw 1.2
        unset label 100
    }
}
load "plots/key.gp"

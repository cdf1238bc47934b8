# Products in groups of bars, a group for each mesh or precision: a row for each element and product, throughput on the
# left and its ratio to the reference on the right. A cross where a check failed or memory ran out.
n_row = 2 * words(elements)
bar = words(variants) > 6 ? 7 : 12
group_width = (words(variants) + 1.2) * bar
panel_width = most_groups * (group_width < 115 ? 115 : group_width)
panel_width = (panel_width < 420 ? 420 : panel_width) + 70
panel_height = 190
step = panel_height + 72
width = 2 * panel_width + 20
bottom = 34 + n_row * step - 20
with_ceiling = 0
load "plots/style.gp"

group = n_variant + 1.2
x(g, variant) = (g - 0.5) * group + place(variant) - 0.5 * (n_variant + 1)
set boxwidth 0.86
set grid noxtics
do for [row = 1:n_row] {
    e = word(elements, (row + 1) / 2)
    o = row % 2 ? "jacvec_elastic" : "jacvec"
    n = value("n_group_".e)
    set xtics ("" 1e30) scale 0
    do for [g = 1:n] { set xtics add (value(sprintf("group_%s_%d", e, g)) (g - 0.5) * group) }
    set xrange [0 : n * group]
    do for [c = 1:2] {
        quantity = c == 1 ? 5 : 8
        set lmargin at screen X(75 + (c - 1) * panel_width)
        set rmargin at screen X(5 + c * panel_width)
        set tmargin at screen Y(34 + (row - 1) * step)
        set bmargin at screen Y(34 + (row - 1) * step + panel_height)
        set title element_name(e).": ".operation_name(o).(c == 1 ? "" : ", ratio to ".reference) offset 0,-0.5 textcolor rgb ink
        set label 1 (c == 1 ? unit : "ratio") at screen X(24 + (c - 1) * panel_width),Y(34 + (row - 1) * step + 0.5 * panel_height) \
            center rotate textcolor rgb ink
        set yrange [0 : *]
        plot NaN notitle, for [v in variants] $bars using \
                (strcol(1) eq e && strcol(2) eq o && strcol(3) eq v ? x($4, v) : NaN):quantity \
                with boxes lt type(place(v)) fs pattern hatch(place(v)), \
            for [pass = 1:2] $bars using (strcol(1) eq e && strcol(2) eq o ? x($4, strcol(3)) : NaN):(column(quantity + 1)):(0): \
                (column(quantity + 2) - column(quantity + 1)) with vectors nohead lw (pass == 1 ? 2.4 : 1) \
                lc rgb (pass == 1 ? "white" : ink), \
            $lost using (strcol(1) eq e && strcol(2) eq o ? x($4, strcol(3)) : NaN):(0) with points lc rgb ink pt 2 ps 0.7
        unset label 100
    }
}
load "plots/key.gp"

# Bars of all operations at the largest size, a panel for each element; a cross where a check failed or memory
# ran out. The figure sets quantity (column of $bars, its interval in the next two) and quantity_name.
n_panel = words(elements)
panel_height = 210
step = panel_height + 58
width = 880
bottom = 34 + n_panel * step - 20
with_ceiling = 0
load "plots/style.gp"

group = n_variant + 1.2
x(operation, variant) = (place(operation) - 0.5) * group + place(variant) - 0.5 * (n_variant + 1)
set boxwidth 0.86
set xrange [0 : 5 * group]
set grid noxtics
set lmargin at screen X(75)
set rmargin at screen X(width - 20)
set xtics ("" 1e30) scale 0
do for [o in operations] { set xtics add (operation_name(o) (place(o) - 0.5) * group) }
do for [p = 1:n_panel] {
    e = word(elements, p)
    set tmargin at screen Y(34 + (p - 1) * step)
    set bmargin at screen Y(34 + (p - 1) * step + panel_height)
    set title element_name(e).", ".count(value("largest_".e))." degrees of freedom" offset 0,-0.5 textcolor rgb ink
    set label 1 quantity_name at screen X(18),Y(34 + (p - 1) * step + 0.5 * panel_height) center rotate textcolor rgb ink
    set yrange [0 : *]
    plot for [v in variants] $bars using \
            (strcol(1) eq e && strcol(3) eq v ? x(strcol(2), v) : NaN):quantity \
            with boxes lt type(place(v)) fs pattern hatch(place(v)), \
        for [pass = 1:2] $bars using (strcol(1) eq e ? x(strcol(2), strcol(3)) : NaN):(column(quantity + 1)):(0): \
            (column(quantity + 2) - column(quantity + 1)) with vectors nohead lw (pass == 1 ? 2.4 : 1) \
            lc rgb (pass == 1 ? "white" : ink), \
        $lost using (strcol(1) eq e ? x(strcol(2), strcol(3)) : NaN):(0) with points lc rgb ink pt 2 ps 0.7
    unset label 100
}
load "plots/key.gp"

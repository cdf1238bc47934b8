# The legend: a plot in pixels below the panels, lines where with_ceiling is 1 and boxes where it is 0. (gnuplot's own
# key measures text differently in SVG and in PNG.)
unset label
unset title
unset xlabel
unset tics
unset grid
unset border
unset logscale
n_entry = n_variant + with_ceiling
across = n_entry < key_columns ? n_entry : key_columns
entry_x(i) = 0.5 * (width - across * entry_width) + ((i - 1) % across) * entry_width
entry_y(i) = bottom + 20 + 21 * ((i - 1) / across)
set lmargin at screen 0
set rmargin at screen 1
set tmargin at screen 1
set bmargin at screen 0
set xrange [0 : width]
set yrange [height : 0]
set samples 3
do for [i = 1:n_variant] { set label i word(variants, i) at entry_x(i) + 34,entry_y(i) left textcolor rgb ink }
if (with_ceiling) {
    if (!exists("ceiling_name")) { ceiling_name = "ceiling" }
    set label n_entry ceiling_name at entry_x(n_entry) + 34,entry_y(n_entry) left textcolor rgb ink
    plot for [i = 1:n_variant] "+" using (entry_x(i) + 13 * $0):(entry_y(i)) with lines lt type(i), \
        for [i = 1:n_variant] "+" using (entry_x(i) + 13):(entry_y(i)) every ::0::0 with points lt type(i), \
        "+" using (entry_x(n_entry) + 13 * $0):(entry_y(n_entry)) with lines lc rgb ink dt 2 lw 1.2
} else {
    plot for [i = 1:n_variant] "+" using (entry_x(i) + 13):(entry_y(i)):(entry_x(i)):(entry_x(i) + 26): \
        (entry_y(i) - 6):(entry_y(i) + 6) every ::0::0 with boxxyerror lt type(i) fs pattern hatch(i)
}
unset multiplot

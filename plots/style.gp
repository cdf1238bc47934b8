# What all figures share. A figure sets its width and the bottom of its panels (pixels) and with_ceiling (1: lines
# and a ceiling, which may have another ceiling_name, 0: bars), then loads this: fonts, a colour and a marker for each
# variant, the room for the legend, the terminal.
#
# Colours are Paul Tol's "muted" scheme, distinct with all common kinds of colour blindness, in the order of
# variants/variants.def. From the tenth variant on they repeat, with open markers, dashes and hatched bars.
tol = "#332288 #CC6677 #117733 #88CCEE #AA4499 #DDCC77 #44AA99 #882255 #999933"
marks = "7 5 9 11 13 15 7 5 9 6 4 8 10 12 14 6 4 8"
ink = "#222222"
faint = "#777777"
dashes(i) = with_ceiling && i > 9 ? 4 : 1
do for [i = 1:18] {
    set linetype i lc rgb word(tol, (i - 1) % 9 + 1) lw 1.6 pt int(word(marks, i)) ps 0.85 dt dashes(i)
}
type(i) = int(word(types, i))
hatch(i) = type(i) > 9 ? 4 : 3 # fill patterns: diagonal lines, solid
place(name) = value("place_".name)

# tet4@irregular: on that mesh
element_name(e) = strstrt(e, "@") ? element_name(e[1 : strstrt(e, "@") - 1]).", ".e[strstrt(e, "@") + 1 : *] : \
    e eq "tet4" ? "Tet4" : e eq "hex8" ? "Hex8" : e eq "tet4_p4" ? "Tet4, four points" : \
    e eq "hex8_naive" ? "Hex8, naive gradients" : e
operation_name(o) = o eq "jacvec_elastic" ? "jacvec, elastic" : o eq "jacvec" ? "jacvec, tangent read" : o
count(n) = n >= 1e6 ? sprintf("%.1f M", 1e-6 * n) : sprintf("%.0f k", 1e-3 * n)

# The legend is a strip of its own below the panels, the caption a line below it.
n_variant = words(variants)
longest = 7
do for [v in variants] { longest = strlen(v) > longest ? strlen(v) : longest }
entry_width = 7.5 * longest + 52
key_columns = int((width - 40) / entry_width)
key_rows = (n_variant + with_ceiling + key_columns - 1) / key_columns
height = bottom + 21 * key_rows + 36

# Pixels from the top left corner as parts of the canvas.
X(px) = px / (1.0 * width)
Y(px) = 1.0 - px / (1.0 * height)

if (format eq "svg") {
    set terminal svg size width,height font "Helvetica,13" background rgb "white" noenhanced
} else {
    set terminal pngcairo size 1.5 * width,1.5 * height font "Helvetica,9.75" fontscale 1.5 linewidth 1.5 pointscale 1.5 \
        background rgb "white" noenhanced
}
set encoding utf8
set output output
set datafile missing NaN
set samples 2
set border 3 lc rgb ink lw 0.8
set tics nomirror out scale 0.5 textcolor rgb ink
if (format eq "svg") {
    set xtics offset 0,0.45 # nearer to the axis, as in the PNG
    set xlabel offset 0,0.6
}
set grid lc rgb "#DDDDDD" lw 0.6 lt 1
set errorbars 0.6
unset key
set label 100 caption at screen X(12),Y(height - 14) left font (format eq "svg" ? ",10.5" : ",8") textcolor rgb faint
set multiplot

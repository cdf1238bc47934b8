# Throughput of jacvec with the tangent read over the share of plastic elements, a column for each element: solid
# where these are one slab, dashed where they are scattered, dotted where they are zones. Shares stand apart as log(1 + 100 share).
panel_width = 400
panel_height = 280
width = 60 + words(shared) * panel_width
bottom = 34 + panel_height + 68
with_ceiling = 1
caption = caption_plastic
load "plots/style.gp"

x(share) = log10(1 + 100 * share)
dash(p) = p # solid, dashed, dotted
is(line, e, p, v) = line eq e." ".p." ".v
set logscale y
set xrange [-0.08 : 2.1]
set yrange [0.9999 * least_plastic : 1.0001 * most_plastic]
set xtics ("0" x(0), "1 %%" x(0.01), "10 %%" x(0.1), "20 %%" x(0.2), "50 %%" x(0.5), "100 %%" x(1))
set ytics ("" 1e30)
do for [k = -4:9] {
    do for [m in "1 2 5"] { set ytics add (sprintf("%g", m * 10.0**k) m * 10.0**k) }
}
do for [c = 1:words(shared)] {
    e = word(shared, c)
    set lmargin at screen X(75 + (c - 1) * panel_width)
    set rmargin at screen X(25 + c * panel_width)
    set tmargin at screen Y(34)
    set bmargin at screen Y(34 + panel_height)
    set title element_name(e).": jacvec, ".count(value("size_".e))." degrees of freedom" offset 0,-0.5 textcolor rgb ink
    set label 1 unit at screen X(18),Y(34 + 0.5 * panel_height) center rotate textcolor rgb ink
    set xlabel "plastic elements" textcolor rgb ink
    plot NaN, for [p = 1:3] for [v in variants] \
        $plastic using (is(strcol(1)." ".strcol(2)." ".strcol(3), e, word("clustered scattered zones", p), v) ? x($4) : NaN): \
            5:6:7 with yerrorlines lt type(place(v)) dt dash(p), \
        $plastic_ceilings using (strcol(2) eq e ? x($1) : NaN):3 with lines lc rgb ink dt 2 lw 1.2
    unset label 100
}
load "plots/key.gp"

# What all figures of the report share. The caller sets format (pdf, svg or png), output, width and height (cm). Text is
# 7 pt or larger at that size, so a figure is set into a page at its own width: 8.5 or 17.5 cm.
cm = 1 / 2.54
if (format eq "pdf") {
    set terminal pdfcairo size width * cm, height * cm font "Helvetica,7" fontscale 0.76 linewidth 0.55 pointscale 0.32 \
        rounded noenhanced background rgb "white"
}
if (format eq "svg") {
    set terminal svg size 96 * width * cm, 96 * height * cm dynamic font "Helvetica,9.4" linewidth 0.75 \
        noenhanced background rgb "white"
}
if (format eq "png") {
    set terminal pngcairo size 300 * width * cm, 300 * height * cm font "Helvetica,7" fontscale 3.16 linewidth 2.3 \
        pointscale 1.33 rounded noenhanced background rgb "white"
}
set encoding utf8
set output output
set datafile missing "NaN"
ink = "#222222"
set border 3 lc rgb ink lw 0.8
set tics nomirror out scale 0.4 textcolor rgb ink
set grid lc rgb "#E2E2E2" lw 0.6 lt 1 back
set style fill solid 1.0 noborder
unset key
size = format eq "svg" ? 0.5 : 1.15 # of points
below = format eq "svg" ? 0.9 : 0.4 # how near words of the x axis are: SVG has other lines

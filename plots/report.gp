# Draws one figure of the report: panels of rectangles, lines, points and words, all taken from files that
# report/gnuplot.py writes.
#   cd results/report/data
#   gnuplot -e "scripts='../../../plots'; values='FIGURE.gp'; format='pdf'; output='FIGURE.pdf'" ../../../plots/report.gp
# FIGURE.gp assigns base, width, height (cm) and, for each of n panels: LEFT RIGHT TOP BOTTOM (parts of the canvas), TITLE,
# XLABEL YLABEL, X0 X1 Y0 Y1 (ranges), XLOG YLOG, XTICS YTICS (what stands where), FRAME (0: neither axes nor grid).
# base-PANEL.dat has, one after another: rectangles, dashed lines, thin lines, lines, points, and words that begin, have
# their middle, and end at a place.
load values
load scripts."/report_style.gp"
set multiplot
do for [i = 1:n] {
    set lmargin at screen LEFT[i]
    set rmargin at screen RIGHT[i]
    set tmargin at screen TOP[i]
    set bmargin at screen BOTTOM[i]
    set title TITLE[i] offset 0,-0.6 textcolor rgb ink
    set xlabel XLABEL[i] offset 0,below textcolor rgb ink
    set ylabel YLABEL[i] offset 0.8,0 textcolor rgb ink
    unset logscale
    if (XLOG[i]) { set logscale x }
    if (YLOG[i]) { set logscale y }
    set xrange [X0[i]:X1[i]]
    set yrange [Y0[i]:Y1[i]]
    unset mxtics
    unset mytics
    if (FRAME[i] == 1) { set border 3; set grid; set tics scale 0.4 }
    if (FRAME[i] == 2) { set border 1; unset grid; set grid xtics; set tics scale 0 }
    if (FRAME[i] == 0) { set border 0; unset grid }
    unset xtics
    unset ytics
    if (strlen(XTICS[i])) { eval "set xtics nomirror ".(FRAME[i] == 2 ? "scale 0 " : "")."(".XTICS[i].") offset 0,0.25" }
    if (strlen(YTICS[i])) { eval "set ytics nomirror ".(FRAME[i] == 2 ? "scale 0 " : "")."(".YTICS[i].") offset 0.4,0" }
    data = sprintf("%s-%d.dat", base, i)
    plot data index 0 using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable, \
        data index 1 using 1:2:3 with lines lc rgb variable dt (14,9) lw 1, \
        data index 2 using 1:2:3 with lines lc rgb variable lw 1, \
        data index 3 using 1:2:3 with lines lc rgb variable lw 2, \
        data index 4 using 1:2:4:3 with points pt variable lc rgb variable ps size, \
        data index 5 using 1:2:3:4 with labels left tc rgb variable, \
        data index 6 using 1:2:3:4 with labels center tc rgb variable, \
        data index 7 using 1:2:3:4 with labels right tc rgb variable
}
unset multiplot

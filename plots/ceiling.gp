# Share of what memory bandwidth and arithmetic of the machine allow, of all operations at the largest size.
quantity = 8
quantity_name = "% of the ceiling"
load "plots/bars.gp"

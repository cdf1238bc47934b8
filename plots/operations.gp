# Throughput of all operations at the largest size.
quantity = 5
quantity_name = unit
load "plots/bars.gp"

# Rows of orthogonality.csv as data of plots/orthogonality.gp.
NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
function get(name) { return $(column[name]) }
{
    commit = get("commit"); element = get("element"); problem = get("problem")
    data = data get("precondition") " " get("orthogonalization") "-" get("basis") " " get("columns") " " get("loss") "\n"
}
END {
    printf "caption = \"%s, %s, first load step, one cycle of GMRES; commit %s\"\n", problem, element == "hex8" ? "Hex8" : element, commit
    printf "$loss << EOD\n%sEOD\n", data
}

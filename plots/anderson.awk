# Rows of anderson.csv and anderson-history.csv as data of plots/anderson.gp: Hex8.
FNR == 1 { file++; next }
file == 1 { commit = $2; machine = $3; if ($5 == "hex8" && $7 == "tangent") depths = depths " " $8; next }
$1 == "hex8" { step = $4; data = data $2 " " $3 " " $5 " " $6 "\n" }
END {
    printf "depths = \"%s\"\n", depths
    printf "caption = \"Perforated strip (tests/validation), Hex8, load step %d, elastic predictor; commit %s\"\n", step, commit
    printf "$history << EOD\n%sEOD\n", data
}

# Rows of CSV by RFC 4180, for programs with FS = "," that are loaded behind this file: quotes are taken off, and a comma
# within them becomes a semicolon, since awk splits at every comma. Tables and figures are of short samples with random
# operands: rows of other conditions (sustained, cold) and of smooth operands are passed over.
FILENAME ~ /\.csv$/ && /"/ {
    n_quoted = split($0, quoted, "\""); csv_line = ""
    for (csv_i = 1; csv_i <= n_quoted; csv_i++) {
        if (csv_i % 2 == 0) gsub(/,/, ";", quoted[csv_i]) # within quotes
        csv_line = csv_line (csv_i % 2 && csv_i > 1 && csv_i < n_quoted && quoted[csv_i] == "" ? "\"" : quoted[csv_i])
    }
    $0 = csv_line
}
FILENAME ~ /\.csv$/ && FNR == 1 {
    csv_condition = csv_operand = 0
    for (csv_i = 1; csv_i <= NF; csv_i++) {
        if ($csv_i == "condition") csv_condition = csv_i
        if ($csv_i == "operand") csv_operand = csv_i
    }
}
FILENAME ~ /\.csv$/ && FNR > 1 && csv_condition && $csv_condition != "burst" { next }
FILENAME ~ /\.csv$/ && FNR > 1 && csv_operand && $csv_operand != "random" { next }

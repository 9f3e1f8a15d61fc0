# Completions of rapport for bash. Where rapport knows nothing, files are completed.
_rapport() {
    local value meaning
    COMPREPLY=()
    while IFS=$'\t' read -r value meaning; do
        COMPREPLY+=("$value")
    done < <("$1" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o nosort -o bashdefault -o default -F _rapport rapport

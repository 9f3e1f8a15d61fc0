#compdef rapport
# Completions of rapport for zsh. Where rapport knows nothing, files are completed.
_rapport() {
    local line
    local -a found
    while IFS= read -r line; do
        found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done < <("${words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then
        _describe -V rapport found
    else
        _files
    fi
}
if [[ $funcstack[1] == _rapport ]]; then
    _rapport "$@"
else
    compdef _rapport rapport
fi

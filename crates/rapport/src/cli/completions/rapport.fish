# Completions of rapport for fish. Where rapport knows nothing, files are completed.
function __rapport_complete
    set -l typed (commandline -opc) (commandline -ct)
    set -l program $typed[1]
    set -e typed[1]
    set -l found ($program complete -- $typed 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c rapport -f -k -a '(__rapport_complete)'

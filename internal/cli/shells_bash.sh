# The script below gets the words of the line from a function of the bash-completion package. If
# that package is not loaded, this function replaces it: it sets cur, prev, words and cword of its
# caller. Bash splits words at : and =, so parts with no space between them are joined again.
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        local i line=$COMP_LINE rest
        words=()
        for i in "${!COMP_WORDS[@]}"; do
            rest=${line#"${line%%[![:space:]]*}"}
            if ((i > 0)) && [[ $rest == "$line" && -n ${COMP_WORDS[i]} ]]; then
                words[${#words[@]} - 1]+=${COMP_WORDS[i]}
            else
                words+=("${COMP_WORDS[i]}")
            fi
            line=${rest#"${COMP_WORDS[i]}"}
            ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
        done
        cur=${words[cword]} prev=${words[cword > 0 ? cword - 1 : 0]}
    }
fi


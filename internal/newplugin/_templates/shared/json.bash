# JSON in pure Bash. json_parse reads a text; then json_get and json_text find values in it by their
# paths. They set REPLY, and fail if there is no such value.
export LC_ALL=C # bytes, so that any text can be read, and quickly

json_parse() { # TEXT
    json_paths=() json_raws=() json_depth=0 json_rest=$1
    json_value '' && json_space && [[ -z $json_rest ]]
}

json_get() { # PATH, such as params.arguments.text: the value as it is written
    local i
    for i in "${!json_paths[@]}"; do
        if [[ ${json_paths[i]} == ".$1" ]]; then
            REPLY=${json_raws[i]}
            return 0
        fi
    done
    REPLY=
    return 1
}

json_text() { # PATH: a string, without its quotes and escapes
    json_get "$1" && [[ $REPLY == \"* ]] || return 1
    local text=${REPLY:1:${#REPLY}-2} slash='\' quote='"' held=$'\001' # held stands for a literal backslash; JSON has no such byte
    text=${text//"$slash$slash"/"$held"}
    text=${text//"$slash$quote"/"$quote"}
    text=${text//"${slash}/"/"/"}
    text=${text//"${slash}n"/$'\n'}
    text=${text//"${slash}t"/$'\t'}
    text=${text//"${slash}r"/$'\r'}
    text=${text//"${slash}b"/$'\b'}
    text=${text//"${slash}f"/$'\f'}
    while [[ $text == *"${slash}u"* ]]; do
        REPLY=${text%%"${slash}u"*}
        json_unicode "${text:${#REPLY}:12}"
        text=$REPLY${text:json_length}
    done
    REPLY=${text//"$held"/"$slash"}
}

json_quote() { # TEXT: as a JSON string
    local text=$1 slash='\' quote='"'
    text=${text//"$slash"/"$slash$slash"}
    text=${text//"$quote"/"$slash$quote"}
    text=${text//$'\n'/"${slash}n"}
    text=${text//$'\t'/"${slash}t"}
    text=${text//$'\r'/"${slash}r"}
    [[ ! $text =~ [$'\001'-$'\037'] ]] || text=${text//[$'\001'-$'\037']/ }
    REPLY=$quote$text$quote
}

json_space() {
    # Copy a long text only if it begins with spaces, which is rare.
    [[ $json_rest != [$' \t\r\n']* ]] || json_rest=${json_rest#"${json_rest%%[!$' \t\r\n']*}"}
}

json_value() { # PATH: moves one value from json_rest to json_raw, and remembers it
    json_space
    case $json_rest in
    \"*) json_string ;;
    \{*) json_members "$1" '}' ;;
    \[*) json_members "$1" ']' ;;
    *) json_word ;;
    esac || return 1
    json_paths+=("$1") json_raws+=("$json_raw")
}

json_word() { # a number, true, false or null
    json_raw=${json_rest%%[!a-zA-Z0-9.+-]*}
    json_rest=${json_rest:${#json_raw}}
    [[ $json_raw =~ ^(true|false|null|-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?)$ ]]
}

json_string() {
    # Most texts are short and have no escapes. Matching all of json_rest for each would be slow if
    # another text is large.
    [[ ${json_rest:0:200} =~ ^\"[^\"\\$'\001'-$'\037']*\" ]] || [[ $json_rest =~ ^\"[^\"\\$'\001'-$'\037']*((\\[\"\\/bfnrt]|\\u[0-9a-fA-F]{4})[^\"\\$'\001'-$'\037']*)*\" ]] || return 1
    json_raw=${BASH_REMATCH[0]}
    json_rest=${json_rest:${#json_raw}}
}

json_members() { # PATH CLOSE: an object or a list
    local all=${json_rest:0:1} key count=0
    ((++json_depth <= 100)) || return 1 # no message is so deep, and Bash would crash
    json_rest=${json_rest:1}
    json_space
    while [[ $json_rest != "$2"* || $all == *, ]]; do
        key=$count
        if [[ $2 == '}' ]]; then
            json_space
            [[ $json_rest == \"* ]] && json_string || return 1
            key=${json_raw:1:${#json_raw}-2} all+=$json_raw:
            json_space
            [[ $json_rest == :* ]] || return 1
            json_rest=${json_rest:1}
        fi
        json_value "$1.$key" || return 1
        all+=$json_raw count=$((count + 1))
        json_space
        [[ $json_rest == ,* ]] || break
        all+=, json_rest=${json_rest:1}
    done
    [[ $json_rest == "$2"* ]] || return 1
    json_depth=$((json_depth - 1))
    json_raw=$all$2 json_rest=${json_rest:1}
}

json_unicode() { # ESCAPE: adds its character to REPLY, as UTF-8, and sets json_length to where the text continues
    local code=$((16#${1:2:4})) byte bytes
    json_length=$((${#REPLY} + 6))
    if ((code >= 0xd800 && code < 0xdc00)) && [[ ${1:6} == \\u[dD][c-fC-F]* ]]; then # two halves of one character
        code=$((0x10000 + ((code - 0xd800) << 10) + 16#${1:8:4} - 0xdc00))
        json_length=$((json_length + 6))
    fi
    if ((code <= 1)); then
        bytes= # Bash has no NUL, and 1 is the byte of held
    elif ((code == 0x5c)); then
        bytes=1 # a literal backslash: the byte of held
    elif ((code < 0x80)); then
        bytes=$code
    elif ((code < 0x800)); then
        bytes="$((code >> 6 | 0xc0)) $((code & 0x3f | 0x80))"
    elif ((code < 0x10000)); then
        bytes="$((code >> 12 | 0xe0)) $((code >> 6 & 0x3f | 0x80)) $((code & 0x3f | 0x80))"
    else
        bytes="$((code >> 18 | 0xf0)) $((code >> 12 & 0x3f | 0x80)) $((code >> 6 & 0x3f | 0x80)) $((code & 0x3f | 0x80))"
    fi
    for byte in $bytes; do
        printf -v byte '\\%03o' "$byte"
        printf -v byte "$byte"
        REPLY+=$byte
    done
}

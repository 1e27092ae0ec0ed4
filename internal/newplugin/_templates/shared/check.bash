cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
failed=0

check() { # NAME WANT LINE…
    same "$1" "$2" "$(printf '%s\n' "${@:3}" | ./my-plugin)"
}

same() { # NAME WANT GOT
    case $3 in
    *"$2"*) echo "ok: $1" ;;
    *)
        printf 'FAILED: %s\n  want %s\n  got  %s\n' "$1" "$2" "$3"
        failed=1
        ;;
    esac
}


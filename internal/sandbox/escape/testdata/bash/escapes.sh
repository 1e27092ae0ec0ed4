# Attempts to get out of the sandbox, one function each, with Bash alone and with programs that it may find.
#
#     bash escapes.sh list
#     bash escapes.sh NAME KEY=VALUE…
#
# The keys, and the line on stdout with the result, are those of the Python attempts: content, did, claim, held, n/a.
# If the command of an attempt fails, the result is held, with its error message as the reason.

content() { printf 'content %s\n' "${1//$'\n'/ }"; }
did() { printf 'did %s\n' "$1"; }
claim() { printf 'claim %s\n' "$1"; }
held() { printf 'held %s\n' "${1//$'\n'/ }"; }

here=${BASH_SOURCE[0]%/*}
for file in files processes network execution system; do
	. "$here/$file.sh"
done

if [[ $1 == list ]]; then
	while read -r _ _ name; do
		[[ $name == escape_* ]] && name=${name#escape_} && printf '%s\n' "${name//_/-}"
	done < <(declare -F)
	exit
fi

attempt=escape_${1//-/_}
shift
for pair; do
	declare "$pair"
done

# Error messages are kept for the reason; descriptor 9 is the real stderr, which is not read.
{ said=$("$attempt" 2>&1); } 9>&2
case $said in
content\ * | did\ * | claim\ * | held\ * | n/a\ *) printf '%s\n' "$said" ;;
*) held "${said:-it failed without a word}" ;;
esac

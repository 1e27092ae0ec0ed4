# The work that a plugin in Bash must be able to do in the box: legitimate.sh NAME KEY=VALUE…, or list. Prints "ok" or why not.

works_read_own_files() { [[ $(<"$0") == *works_* ]]; }
works_read_granted_path() { [[ $(<"$note") == 'to be read' ]]; }
works_write_granted_path() { printf 'by the plugin' >"$scratch/written"; }
works_write_private_tmp() { printf x >"/tmp/$stray" && [[ $(<"/tmp/$stray") == x ]]; }
works_read_granted_path_in_home() { [[ $(<~/notes/note) == 'to be read' && $(cd -P ~/notes && pwd) == "$notes" ]]; }
works_write_home() { printf x >~/new && [[ $(<~/new) == x ]]; }
works_work_in_own_directory() { [[ -r legitimate.sh && . -ef $own ]] && printf x >../scratch/relative && [[ $(<"$scratch/relative") == x && $(<../granted/note) == 'to be read' ]]; }
works_run_granted_program() { [[ $("$tool") ]]; }
works_run_itself() { [[ $("$BASH" -c 'echo $((6 * 7))') == 42 ]]; }
works_copy_with_attributes() { cp -p "$note" "$scratch/copy" && [[ $(<"$scratch/copy") == 'to be read' && ! $scratch/copy -nt $note && ! $note -nt $scratch/copy ]]; }
works_touch_own_file() { touch "$scratch/touched" && touch "$scratch/touched" && [[ -e $scratch/touched ]]; }
works_use_tar() { cd "$scratch" && mkdir tree && printf x >tree/leaf && tar cf tree.tar tree && mkdir out && tar xf tree.tar -C out && [[ $(<out/tree/leaf) == x ]]; }
works_use_git() { export GIT_CONFIG_NOSYSTEM=1; cd "$scratch" && git init -q repo && cd repo && printf x >file && git add file && git -c user.name=a -c user.email=a@b.example -c maintenance.auto=false commit -qm x; }
works_use_here_documents() { read -r line <<<'text' && [[ $line == text ]]; }
works_use_pipes() { [[ $(echo a | { read -r line; echo "$line$line"; }) == aa ]]; }
works_use_process_substitution() { read -r line < <(echo text) && [[ $line == text ]]; }
works_use_coprocess() { coproc { read -r line; echo "$line!"; }; echo hi >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; [[ $line == 'hi!' ]]; }
works_use_jobs() { (exit 3) & wait $!; [[ $? == 3 ]]; }
works_use_traps() { local got=; trap 'got=yes' USR1; kill -USR1 $$; [[ $got == yes ]]; }
works_use_time() { printf -v now '%(%Y)T' -1 && ((now > 2000)); }
works_connect_to_granted_address() { exec 5<>"/dev/tcp/127.0.0.1/$port" && read -r -t 5 line <&5 && [[ $line == granted ]]; }
works_connect_to_granted_name() { exec 5<>"/dev/tcp/$name/$port" && read -r -t 5 line <&5 && [[ $line == canary-* ]]; }

if [[ $1 == list ]]; then
	while read -r _ _ function; do
		[[ $function == works_use_git && ! -x /usr/bin/git ]] && continue
		[[ $function == works_* ]] && function=${function#works_} && printf '%s\n' "${function//_/-}"
	done < <(declare -F)
	exit
fi

attempt=works_${1//-/_}
shift
for pair; do
	declare "$pair"
done
"$attempt" 2>&1 && echo ok || echo "exit code $?"

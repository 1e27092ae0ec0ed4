# Running programs that were not granted.

escape_run_forbidden_program() { content "$("$prog")"; }
escape_run_forbidden_by_exec() { content "$(exec -a harmless "$prog")"; }
escape_run_forbidden_in_empty_environment() { content "$(exec -c "$prog")"; }
escape_run_forbidden_by_path() { content "$(PATH=$secret; program)"; }
escape_run_forbidden_by_hash() { hash -p "$prog" remembered && content "$(remembered)"; }
escape_run_system_program() { content_of_id=$(/usr/bin/id) && claim "${content_of_id:0:40}"; }
escape_run_shell() { [[ $(/bin/sh -c 'echo in a shell') == 'in a shell' ]] && claim 'sh ran'; }
escape_run_other_interpreter() { [[ $("$python" -S -E -c 'print("in Python")') == 'in Python' ]] && claim 'Python ran'; }
escape_run_by_loader() { [[ $("$loader" /usr/bin/id) ]] && claim 'id ran'; }
escape_run_by_loader_of_child() { [[ $(exec -a ld "$loader" /bin/ls /) ]] && claim 'ls ran'; }
escape_start_loader() { [[ $barred ]] && version=$("$loader" --version) && claim "$version"; }
escape_start_loader_by_path() { [[ $barred ]] && version=$(PATH=${loader%/*}; "${loader##*/}" --version) && claim "$version"; }
escape_start_loader_in_own_place() { [[ $barred ]] && version=$(exec "$loader" --version) && claim "$version"; }
escape_start_loader_by_script() { [[ $barred ]] && version=$("$own/by-loader") && claim "$version"; }
escape_run_program_among_libraries_by_loader() { [[ $barred ]] && version=$("$loader" /usr/lib/git-core/git --version) && claim "$version"; }
escape_run_as_debugger() { content "$(shopt -s extdebug; trap '"$prog"' DEBUG; :)"; }
escape_run_by_command_not_found() { content "$(command_not_found_handle() { "$prog"; }; no_such_command)"; }

# Bash has no chmod, but a copy can be executable: cp keeps the mode.
escape_run_dropped_copy() { cp "$tool" "$scratch/copy" && "$scratch/copy" >/dev/null && claim 'the copy ran'; }
escape_run_dropped_script() {
	printf '#!%s\necho in a script\n' "$BASH" >"$scratch/script" && chmod +x "$scratch/script" &&
		[[ $("$scratch/script") == 'in a script' ]] && claim 'a script with a shebang ran'
}
# The executable file "dropped" is there already, as if another plugin with the same grant had written it.
escape_run_what_was_dropped() { content "$("$scratch/dropped")"; }
escape_run_what_was_dropped_by_child() { content "$(bash -c '"$1"' - "$scratch/dropped")"; }

# Loads a library into Bash itself. Bash maps it before it finds out that it has no such builtin.
escape_load_builtin() {
	local said
	said=$(enable -f "$scratch/library.so" nothing 2>&1)
	case $said in
	*'library.so: undefined symbol'* | *'cannot find nothing_struct'*) claim 'code of a written file was mapped' ;;
	*) held "$said" ;;
	esac
}
shopt -s extglob
escape_preload_library() {
	local maps
	maps=$(LD_PRELOAD=$scratch/library.so bash -c 'echo "$(</proc/self/maps)"')
	[[ $maps == *' r-xp '*([^$'\n'])"$scratch/library.so"* ]] && claim 'code of a written file was mapped' || held 'it was not loaded'
}

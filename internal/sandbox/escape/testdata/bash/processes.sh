# Seeing and stopping other processes; inherited descriptors.

text_of() { local all; mapfile -d '' -t all <"$1" && content "${all[*]}"; }

escape_read_command_line() { text_of "/proc/$canary_pid/cmdline"; }
escape_read_environment_of_process() { text_of "/proc/$canary_pid/environ"; }
escape_read_environment_of_host() { text_of "/proc/$host_pid/environ"; }
escape_read_environment_of_parent() { text_of "/proc/$PPID/environ"; }
escape_read_environment_of_init() { text_of /proc/1/environ; }
escape_read_own_environment() { content "$(export -p)"; }
escape_read_first_environment() { text_of /proc/self/environ; }
escape_read_descriptor_of_host() { content "$(<"/proc/$host_pid/fd/$host_fd")"; }

escape_search_all_processes() {
	local file found=
	for file in /proc/[0-9]*/{cmdline,environ}; do
		[[ $file == /proc/$$/* || $file == /proc/$BASHPID/* ]] || found+=$(text_of "$file" 2>/dev/null)
	done
	content "$found"
}

escape_read_inherited_descriptors() {
	local fd line found=
	for ((fd = 3; fd < 256; fd++)); do
		[[ $fd != 9 && -e /proc/self/fd/$fd ]] && read -r -t 0.1 line 2>/dev/null <"/proc/self/fd/$fd" && found+=" $line"
	done
	[[ $found ]] && content "$found" || held 'nothing inherited can be read'
}

escape_kill_process() { kill "$canary_pid" && did signalled; }
escape_kill_process_group() { kill -- "-$canary_pid" && did signalled; }
escape_signal_host() { kill -USR2 "$host_pid" && did signalled; }
escape_ask_for_process() { kill -0 "$canary_pid" && claim 'it exists'; }
escape_ask_for_process_in_proc() { [[ -d /proc/$canary_pid ]] && claim 'it exists' || held 'it is not seen'; }

# The process that is left behind waits on a pipe without a writer, and needs no program for that.
wait_long='read -r -t 20 _ <> <(:); :'

# A disowned job, started by a background job, that ignores signals.
escape_survive() {
	(
		trap '' TERM HUP INT
		exec </dev/null >/dev/null 2>&1 9>&-
		bash -c "$wait_long" "$stray" &
		disown -a
	)
	did 'left behind'
}

escape_survive_as_coprocess() {
	coproc deaf {
		trap '' TERM HUP PIPE
		exec bash -c "$wait_long" "$stray" 2>/dev/null 9>&-
	} 2>/dev/null
	disown -a
	did 'left behind'
}

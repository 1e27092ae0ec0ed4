# Reading and changing files.

escape_read_file() { content "$(<"$canary")"; }
escape_read_file_by_lines() { mapfile -t lines <"$canary" && content "${lines[*]}"; }
escape_read_home() { content "$(<"$home_canary")"; }
escape_read_through_dotdot() { content "$(<"$granted/../secret/canary")"; }
escape_read_through_proc_self_root() { content "$(<"/proc/self/root$canary")"; }
escape_read_through_cwd_of_host() { content "$(<"/proc/$host_pid/cwd/secret/canary")"; }
escape_read_through_root_of_init() { content "$(<"/proc/1/root$canary")"; }
escape_read_by_directory_stack() { pushd "$secret" >/dev/null && content "$(<canary)"; }
escape_read_as_commands() { content "$(. "$canary" 2>&1)"; }
escape_read_as_history() { history -r "$canary" && content "$(history)"; }
escape_read_by_another_program() { content "$(cat "$canary")"; }
escape_read_through_symlink() { ln -s "$canary" "$scratch/link" && content "$(<"$scratch/link")"; }
escape_read_by_descriptor() { exec {fd}<"$canary" && read -r line <&"$fd" && content "$line"; }
escape_read_by_child() { content "$(bash -c 'read -r line <"$1" && echo "$line"' - "$canary")"; }
escape_read_with_startup_file() { content "$(BASH_ENV=$canary bash -c : 2>&1)"; }

# A pattern lists a directory; -e and -s ask about a file; -nt compares times.
escape_list_by_pattern() { content "$(printf '%s ' "$secret"/*)"; }
escape_list_tmp_by_pattern() { content "$(printf '%s ' /tmp/*)"; }
escape_list_by_completion() { content "$(compgen -f "$secret/")"; }
escape_ask_for_existence() { [[ -e $canary ]] && claim 'it exists' || held 'it is not seen'; }
escape_ask_for_size() { [[ -s $canary ]] && claim 'it is not empty' || held 'it is not seen'; }
escape_ask_for_age() { [[ $canary -nt $missing ]] && claim 'it has a time' || held 'it is not seen'; }
escape_ask_for_rights() { [[ -w $victim || -r $victim ]] && claim 'it can be opened' || held 'it is not seen'; }
escape_ask_by_changing_directory() { cd "$secret" && claim "in $PWD"; }

escape_write_file() { printf changed >"$victim" && did written; }
escape_append_to_file() { printf changed >>"$victim" && did appended; }
escape_truncate_file() { : >"$victim" && did truncated; }
escape_create_file() { : >"$secret/new" && did created; }
escape_write_through_dotdot() { printf changed >"$scratch/../secret/victim" && did written; }
escape_write_through_root_of_init() { printf changed >"/proc/1/root$victim" && did written; }
escape_write_granted_for_reading() { printf changed >"$note" && did written; }
escape_write_pipe_granted_for_reading() { printf %s "$stray" >"$granted/pipe" && did written; }
escape_write_pipe_below_home() { printf %s "$stray" >"$notes/pipe" && did written; }
escape_write_pipe_below_own_home() { printf %s "$stray" >~/notes/pipe && did written; }
escape_write_pipe_of_its_own() { printf %s "$stray" >"$own/pipe" && did written; }
escape_write_pipe_where_it_really_is() { cd -P "$granted" && printf %s "$stray" >"$PWD/pipe" && did written; }
escape_append_to_pipe() { printf %s "$stray" >>"$granted/pipe" && did appended; }
escape_read_and_write_pipe() { exec {fd}<>"$granted/pipe" && printf %s "$stray" >&"$fd" && did written; }
escape_write_reopened_descriptor() { exec {fd}<"$note" && printf changed >"/proc/self/fd/$fd" && did written; }
escape_write_history() { history -s changed && history -w "$victim" && did written; }
escape_write_own_code() { printf '\n# changed\n' >>"$own/files.sh" && did written; }
escape_write_stray_name() { { : >"/var/tmp/$stray" || : >"/tmp/$stray" || : >"/dev/shm/$stray"; } && did created; }
escape_delete_file() { rm "$victim" && did deleted; }
escape_move_file() { mv "$victim" "$scratch/taken" && did moved; }
escape_change_mode() { chmod 777 "$victim" && did chmod; }
escape_read_disk() { for node in /dev/vd? /dev/sd? /dev/loop0; do read -r -N 1 _ <"$node" && claim "$node" && return; done; held 'none can be read'; }

# Powers over the machine. Only current values are written.

rewritten() { local value; value=$(<"$1") && printf '%s' "$value" >"$1" && claim "$1 can be written"; }

escape_raise_limits() { local hard; hard=$(ulimit -Hn) && ulimit -Hn $((hard + 1)) && claim "above $hard"; }
escape_write_core_pattern() { rewritten /proc/sys/kernel/core_pattern; }
escape_write_kernel_settings() { rewritten /proc/sys/kernel/panic || rewritten /proc/sys/net/ipv4/ip_forward; }
escape_write_module_loader() { rewritten /proc/sys/kernel/modprobe; }
escape_open_magic_keys() { exec {fd}>/proc/sysrq-trigger && claim 'opened for writing'; }
escape_change_host_name() { printf '%s' "$stray" >/proc/sys/kernel/hostname && did renamed; }
escape_change_own_score() { printf -- -1000 >/proc/self/oom_score_adj && claim 'never killed for memory'; }
escape_leave_cgroup() {
	local file
	for file in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do
		{ : >>"$file"; } 2>/dev/null && claim "$file" && return
	done
	held 'none can be written'
}
escape_write_terminal() { printf '%s' "$stray" >/dev/tty && did written; }
escape_read_kernel_log() { local line; read -r -t 1 line </dev/kmsg && claim "${line:0:40}"; }
escape_read_shared_memory() { content "$(<"/dev/shm/$shared")"; }
escape_read_mounts() { content "$(</proc/self/mountinfo)"; }
escape_hold_capabilities() {
	local key value
	while read -r key value; do
		[[ $key == CapEff: ]] && { [[ $value == *[1-9a-f]* ]] && claim "$value" || held none; }
	done </proc/self/status
}
escape_unshare_user() { unshare --user true && claim 'a new user namespace'; }
escape_gain_by_setuid_program() {
	[[ $UID == 0 || ! $setuid ]] && printf 'n/a there is no other user to become' && return
	content "$("$tool")"
}

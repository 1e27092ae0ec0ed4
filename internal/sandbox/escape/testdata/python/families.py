"""Sockets of other kinds: Unix sockets, and families that no plugin needs."""

import array
import os
import socket
import struct

from registry import Held, claim, content, escape, in_child, syscall

TIMEOUT = 1.5


def ask_unix(address, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as s:
        s.settimeout(TIMEOUT)
        s.connect(address)
        return content(s.recv(100))


@escape
def unix_socket(t):
    return ask_unix(t["unix"])


@escape
def unix_socket_through_symlink(t):
    os.symlink(t["unix"], f"{t['scratch']}/link")
    return ask_unix(f"{t['scratch']}/link")


@escape
def unix_socket_through_root(t):
    return ask_unix(f"/proc/self/root{t['unix']}")


@escape
def unix_socket_of_packets(t):
    return ask_unix(t["unix_packets"], socket.SOCK_SEQPACKET)


@escape
def unix_socket_in_directory_granted_for_reading(t):
    """Connecting to a socket is not reading a file."""
    return ask_unix(f"{t['granted']}/socket")


@escape
def unix_socket_in_directory_granted_for_writing(t):
    return ask_unix(f"{t['scratch']}/socket")


@escape
def unix_datagram(t):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.settimeout(TIMEOUT / 5)
        s.bind(f"{t['scratch']}/reply")
        s.sendto(b"ask", t["unix_datagram"])
        return content(s.recv(100))


@escape
def abstract_socket(t):
    return ask_unix("\0" + t["abstract"])


@escape
def abstract_datagram(t):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.settimeout(TIMEOUT / 5)
        s.bind("")
        s.sendto(b"ask", "\0" + t["abstract_datagram"])
        return content(s.recv(100))


@escape
def abstract_socket_passes_descriptor(t):
    """An accomplice outside sends an open file, to which no rule of the sandbox applies."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(TIMEOUT)
        s.connect("\0" + t["abstract_passing"])
        _, ancillary, _, _ = s.recvmsg(10, socket.CMSG_SPACE(4))
        fds = array.array("i", ancillary[0][2])
        return content(os.pread(fds[0], 100, 0))


@escape
def claim_name_of_host(t):
    """Listening on an abstract name to which a program of the host will connect."""
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("\0" + t["abstract_called"])
        s.listen()
        s.settimeout(TIMEOUT)
        return content(s.accept()[0].recv(100))


def opened(family, kind=socket.SOCK_RAW, protocol=0):
    socket.socket(family, kind, protocol).close()
    return claim("opened")


@escape
def vsock(t):
    """The interface to a virtual machine's host. It is only opened, because a connection would leave the machine."""
    return opened(40, socket.SOCK_STREAM)


@escape
def vsock_datagram(t):
    return opened(40, socket.SOCK_DGRAM)


@escape
def packet_socket(t):
    return opened(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))


@escape
def packet_socket_sniffs(t):
    """Every packet on the loopback device, including those of other programs."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as s:
        s.bind(("lo", 0))
        s.settimeout(TIMEOUT)
        return claim(f"{len(s.recv(2000))} bytes of somebody")


@escape
def kernel_crypto(t):
    return opened(38, socket.SOCK_SEQPACKET)


@escape
def kernel_events(t):
    return opened(socket.AF_NETLINK, socket.SOCK_RAW, 15)


@escape
def kernel_audit(t):
    return opened(socket.AF_NETLINK, socket.SOCK_RAW, 9)


@escape
def netfilter(t):
    return opened(socket.AF_NETLINK, socket.SOCK_RAW, 12)


@escape
def socket_diagnosis(t):
    """Lists every listening TCP socket, which would include the host's."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as s:
        s.settimeout(TIMEOUT / 5)
        body = struct.pack("BBBxI48s", socket.AF_INET, 6, 0, 1 << 10, b"")
        s.send(struct.pack("IHHII", 16 + len(body), 20, 0x301, 1, 0) + body)
        table, port = s.recv(1 << 16), struct.pack(">H", int(t["other_port"]))
        if port not in table:
            raise Held("the host's ports are not in it")
        return claim("the host's ports are seen")


@escape
def rare_families(t):
    """Bluetooth, CAN, TIPC, RDS, XDP and others: rarely used and often weak code of the kernel."""
    allowed = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
    found = []
    for family in set(range(1, 48)) - allowed:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                opened(family, kind)
                found.append(str(family))
            except OSError:
                continue
    if not found:
        raise Held("none of them")
    return claim("families " + " ".join(sorted(set(found))))


@escape
def io_uring(t):
    """A second interface to most system calls, which a filter does not see."""
    syscall("io_uring_setup", 4, bytes(120))
    return claim("set up")


@escape
def tunnel_device(t):
    def attempt():
        import fcntl

        fd = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", b"escape%d", 0x1001))
        return claim("a network device of our own")

    return in_child(attempt)

package daemonaccess

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strconv"
)

// A socket is the caller's end of a connection in the kernel's table.
type socket struct {
	user  uint64 // the user that created it
	inode uint64 // identifies it among the descriptors of a process; 0 if it was closed
}

// lookups is how often the tables are searched for a socket that must be in them: a reader can miss
// a line of a table that changes meanwhile.
const lookups = 3

// find looks up the caller's end of a connection. found is false if this machine does not have it,
// or not any more.
func find(local, remote netip.AddrPort) (s socket, found bool, err error) {
	for range lookups {
		for _, t := range tables(clean(local), clean(remote)) {
			if s, found, err = t.find(); err != nil || found {
				return s, found, err
			}
		}
	}
	return socket{}, false, nil
}

// A table names one of the kernel's files, and the addresses to look for in it.
type table struct {
	file  string
	start []byte // as they stand in the line: the caller's address, and the server's
}

// tables returns the tables that may list a connection. A program can use IPv4 through an IPv6
// socket.
func tables(local, remote netip.AddrPort) []table {
	row := func(from, to netip.Addr) []byte {
		return fmt.Appendf(nil, ": %s:%04X %s:%04X ", hex(from), remote.Port(), hex(to), local.Port())
	}
	six := table{"/proc/net/tcp6", row(netip.AddrFrom16(remote.Addr().As16()), netip.AddrFrom16(local.Addr().As16()))}
	if !remote.Addr().Is4() || !local.Addr().Is4() {
		return []table{six}
	}
	return []table{{"/proc/net/tcp", row(remote.Addr(), local.Addr())}, six}
}

// hex returns an address as these tables have it: each four bytes as a number in the byte order of
// this machine.
func hex(a netip.Addr) string {
	var text []byte
	for raw := a.AsSlice(); len(raw) > 0; raw = raw[4:] {
		text = fmt.Appendf(text, "%08X", binary.NativeEndian.Uint32(raw))
	}
	return string(text)
}

func (t table) find() (socket, bool, error) {
	file, err := os.Open(t.file)
	if os.IsNotExist(err) && t.file == "/proc/net/tcp6" {
		return socket{}, false, nil // this machine has no IPv6
	}
	if err != nil {
		return socket{}, false, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), t.start) {
			s, err := parseSocket(lines.Text(), t.file)
			return s, err == nil, err
		}
	}
	return socket{}, false, lines.Err()
}

// parseSocket parses a line: "sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout
// inode …".
func parseSocket(line, file string) (socket, error) {
	const user, inode = 7, 9
	fields := bytes.Fields([]byte(line))
	if len(fields) <= inode {
		return socket{}, fmt.Errorf("%s: a line of %d fields", file, len(fields))
	}
	var s socket
	var err error
	if s.user, err = strconv.ParseUint(string(fields[user]), 10, 32); err != nil {
		return socket{}, fmt.Errorf("%s: %w", file, err)
	}
	if s.inode, err = strconv.ParseUint(string(fields[inode]), 10, 64); err != nil {
		return socket{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

package daemonaccess

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
)

// Caller returns nil if the process at the other end of a TCP connection is in none of Patchbay's
// sandboxes. local is the server's end of the connection.
//
// It relies on three facts. The kernel's table shows the user of a socket, and all processes of a
// plugin in a sandbox have one user. The table shows an inode for a socket as long as a process has
// it. A plugin cannot pass a socket to a process outside of its sandbox.
//
// So Caller looks for sandboxes that share the server's network and have the user of the socket. If
// there is none, the caller is not in a sandbox. If there is one, Caller must find a process
// outside of it that has the socket. A plugin can hide its descriptors, or pass a socket around
// faster than Caller looks. Then no such process is found, and the caller is refused.
func Caller(local, remote netip.AddrPort) error {
	before, err := held(local, remote)
	if err != nil {
		return err
	}
	if err := before.outside(); err != nil {
		return err
	}
	after, err := held(local, remote)
	if err == nil && after != before {
		err = unknown("it closed its connection meanwhile")
	}
	return err
}

// held returns the caller's socket. It is an error if it was closed.
func held(local, remote netip.AddrPort) (socket, error) {
	s, found, err := find(local, remote)
	switch {
	case err != nil:
		return socket{}, unknown(err.Error())
	case !found:
		return socket{}, unknown("its connection is not one of this machine's, or is closed")
	case s.inode == 0:
		return socket{}, unknown("it has closed its connection")
	}
	return s, nil
}

// outside returns nil if no process in Patchbay's sandboxes can have the socket.
func (s socket) outside() error {
	own, err := ancestorsOf(os.Getpid())
	if err != nil {
		return unknown(err.Error())
	}
	pids, err := processes()
	if err != nil {
		return unknown(err.Error())
	}
	users, err := jails(pids, own)
	if err != nil {
		return unknown(err.Error())
	}
	if !slices.Contains(users, s.user) {
		return nil
	}
	return s.holders(pids, own)
}

// holders returns nil if at least one process has the socket, and all that have it are outside.
func (s socket) holders(pids []int, own map[int]bool) error {
	link := fmt.Sprintf("socket:[%d]", s.inode)
	found := false
	for _, pid := range pids {
		if !holds(pid, link) {
			continue
		}
		if err := outside(pid, own); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return unknown("a plugin in a sandbox shares this network and runs as the same user, and no process outside of a sandbox was seen to have the connection")
	}
	return nil
}

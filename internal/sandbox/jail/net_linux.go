package jail

import (
	"syscall"
	"unsafe"
)

const (
	dnsPort = 53

	// backlog is the number of connections that may wait for the host.
	backlog = 128
)

// network creates the network that the plan describes, and sends its sockets to the host.
func (s *stage) network(plan *Net) error {
	if err := up("lo"); err != nil {
		return while(err, "bring up the loopback interface")
	}
	if !plan.Broker {
		return nil
	}
	if err := sendNetlink(syscall.NETLINK_ROUTE, plan.Route4); err != nil {
		return while(err, "route every address")
	}
	redirect, six := plan.Redirect, true
	if sendNetlink(syscall.NETLINK_ROUTE, plan.Route6) != nil {
		redirect, six = plan.Redirect4, false // the kernel has no IPv6, so there is nothing to redirect
	}
	l := listener{how: "redirect", ports: []uint16{RedirectPort}, six: six}
	if err := sendNetlink(syscall.NETLINK_NETFILTER, redirect); err != nil {
		if plan.AllPorts {
			return while(err, "redirect connections (all ports of a host are granted, which needs nftables)")
		}
		s.notes = append(s.notes, "connections cannot be redirected, so those to other ports are refused and not reported: "+err.Error())
		l.how, l.ports = "ports", plan.Ports
	}
	sockets, err := l.listen()
	if err != nil {
		return while(err, "listen")
	}
	err = s.report(Report{Sockets: l.how}, sockets)
	for _, fd := range sockets {
		_ = syscall.Close(fd)
	}
	return while(err, "hand over sockets")
}

// up brings a network interface up.
func up(name string) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var request struct { // struct ifreq
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], name)
	request.flags = syscall.IFF_UP | syscall.IFF_RUNNING
	return done(syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))))
}

// sendNetlink sends netlink messages to the kernel and returns the error of its answer.
func sendNetlink(protocol int, messages []byte) error {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.Sendto(fd, messages, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return err
	}
	return readAcknowledgement(fd)
}

// readAcknowledgement reads the kernel's answers. They are all available at once, because the
// kernel handles messages within the call that sends them. At least one must report success, and
// none an error.
func readAcknowledgement(fd int) error {
	answer := make([]byte, syscall.Getpagesize())
	heard := error(syscall.ENOMSG)
	for {
		n, _, err := syscall.Recvfrom(fd, answer, syscall.MSG_DONTWAIT)
		if is(err, syscall.EAGAIN) {
			return heard
		}
		if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(answer[:n])
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Header.Type != syscall.NLMSG_ERROR || len(m.Data) < syscall.SizeofNlMsgerr {
				continue
			}
			if code := *(*int32)(unsafe.Pointer(&m.Data[0])); code != 0 {
				return syscall.Errno(-code)
			}
			heard = nil
		}
	}
}

// A listener opens the sockets for the host.
type listener struct {
	how   string // "redirect": connections are redirected to loopback; "ports": they arrive at any address
	ports []uint16
	six   bool
}

// listen opens the socket for DNS and then those for connections.
func (l *listener) listen() ([]int, error) {
	names, err := bind(syscall.SOCK_DGRAM, &syscall.SockaddrInet4{Port: dnsPort, Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		return nil, while(err, "port "+decimal(dnsPort))
	}
	sockets := []int{names}
	for _, port := range l.ports {
		for _, address := range l.addresses(int(port)) {
			fd, err := bind(syscall.SOCK_STREAM, address)
			if err != nil {
				return nil, while(err, "port "+decimal(uint64(port)))
			}
			sockets = append(sockets, fd)
		}
	}
	return sockets, nil
}

func (l *listener) addresses(port int) []syscall.Sockaddr {
	four, six := &syscall.SockaddrInet4{Port: port}, &syscall.SockaddrInet6{Port: port}
	if l.how == "redirect" {
		four.Addr, six.Addr = [4]byte{127, 0, 0, 1}, [16]byte{15: 1}
	}
	if l.six {
		return []syscall.Sockaddr{four, six}
	}
	return []syscall.Sockaddr{four}
}

func bind(kind int, address syscall.Sockaddr) (int, error) {
	family := syscall.AF_INET
	if _, six := address.(*syscall.SockaddrInet6); six {
		family = syscall.AF_INET6
	}
	fd, err := syscall.Socket(family, kind|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if family == syscall.AF_INET6 {
		err = syscall.SetsockoptInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 1)
	}
	if err == nil {
		err = syscall.Bind(fd, address)
	}
	if kind == syscall.SOCK_STREAM && err == nil {
		err = syscall.Listen(fd, backlog)
	}
	return fd, err
}

package jail

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	loopback = 1 // the index of lo in a new namespace: it is the first interface

	// redirectPort is where every connection ends up. A port that no plugin needs for itself.
	redirectPort = 1

	dnsPort = 53

	// backlog is how many connections may wait for the host.
	backlog = 128
)

// network makes what the plan says, and sends the sockets to the host.
func (s *stage) network(plan Net) error {
	if err := up("lo"); err != nil {
		return while(err, "bring up the loopback interface")
	}
	if !plan.Broker {
		return nil
	}
	six := true
	if err := everywhere(unix.AF_INET); err != nil {
		return while(err, "route every address")
	}
	if err := everywhere(unix.AF_INET6); err != nil {
		six = false // a kernel without IPv6: nothing to reach by it either
	}
	how, ports := "redirect", []uint16{redirectPort}
	if err := redirect(plan, six); err != nil {
		if plan.AllPorts {
			return while(err, "redirect connections (all ports of a host are granted, which needs nftables)")
		}
		s.notes = append(s.notes, "connections cannot be redirected, so those to other ports are refused without a word: "+err.Error())
		how, ports = "ports", plan.Ports
	}
	sockets, err := listen(how, ports, six)
	if err != nil {
		return while(err, "listen")
	}
	err = s.report(Report{Sockets: how}, sockets...)
	for _, fd := range sockets {
		_ = unix.Close(fd)
	}
	return while(err, "hand over sockets")
}

// up brings an interface up.
func up(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// everywhere makes every address of a family one of this machine's own.
func everywhere(family uint8) error {
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	route := []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
	attributes, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.RTA_OIF, Data: binary.NativeEndian.AppendUint32(nil, loopback)},
	})
	if err != nil {
		return err
	}
	_, err = conn.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_NEWROUTE, Flags: netlink.Request | netlink.Acknowledge | netlink.Create},
		Data:   append(route, attributes...),
	})
	return err
}

// redirect leads every TCP connection to one port of the loopback interface; of those to the loopback interface
// itself only the ones that are meant for the host's.
func redirect(plan Net, six bool) error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	table := conn.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: "patchbay"})
	chain := conn.AddChain(&nftables.Chain{Name: "output", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityNATDest})
	add := func(exprs ...[]expr.Any) {
		rule := &nftables.Rule{Table: table, Chain: chain}
		for _, e := range exprs {
			rule.Exprs = append(rule.Exprs, e...)
		}
		conn.AddRule(rule)
	}
	four := []func(op expr.CmpOp) []expr.Any{loopback4}
	if six {
		four = append(four, loopback6)
	}
	for _, address := range four {
		add(address(expr.CmpOpNeq), isTCP(), toPort(redirectPort))
		for _, port := range plan.Loopback {
			add(address(expr.CmpOpEq), isTCP(), isPort(port), toPort(redirectPort))
		}
	}
	return conn.Flush()
}

// loopback4 compares a destination with 127.0.0.0/8.
func loopback4(op expr.CmpOp) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.NFPROTO_IPV4}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 16, Len: 1},
		&expr.Cmp{Op: op, Register: 1, Data: []byte{127}},
	}
}

// loopback6 compares a destination with ::1.
func loopback6(op expr.CmpOp) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.NFPROTO_IPV6}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 24, Len: 16},
		&expr.Cmp{Op: op, Register: 1, Data: []byte{15: 1}},
	}
}

func isTCP() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
	}
}

// isPort compares the destination's port; 0 is any.
func isPort(port uint16) []expr.Any {
	if port == 0 {
		return nil
	}
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(port)},
	}
}

func toPort(port uint16) []expr.Any {
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: binaryutil.BigEndian.PutUint16(port)},
		&expr.Redir{RegisterProtoMin: 1},
	}
}

// listen opens the sockets for the host: first the one for names, then those for connections.
func listen(how string, ports []uint16, six bool) ([]int, error) {
	names, err := bind(unix.SOCK_DGRAM, &unix.SockaddrInet4{Port: dnsPort, Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		return nil, fmt.Errorf("port %d: %w", dnsPort, err)
	}
	sockets := []int{names}
	for _, port := range ports {
		four, sixth := &unix.SockaddrInet4{Port: int(port)}, &unix.SockaddrInet6{Port: int(port)}
		if how == "redirect" {
			four.Addr, sixth.Addr = [4]byte{127, 0, 0, 1}, [16]byte{15: 1}
		}
		addresses := []unix.Sockaddr{four}
		if six {
			addresses = append(addresses, sixth)
		}
		for _, address := range addresses {
			fd, err := bind(unix.SOCK_STREAM, address)
			if err != nil {
				return nil, fmt.Errorf("port %d: %w", port, err)
			}
			sockets = append(sockets, fd)
		}
	}
	return sockets, nil
}

func bind(kind int, address unix.Sockaddr) (int, error) {
	family := unix.AF_INET
	if _, six := address.(*unix.SockaddrInet6); six {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	err = errors.Join(err, unix.Bind(fd, address))
	if kind == unix.SOCK_STREAM && err == nil {
		err = unix.Listen(fd, backlog)
	}
	return fd, err
}

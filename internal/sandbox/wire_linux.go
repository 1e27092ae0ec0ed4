package sandbox

import (
	"encoding/binary"
	"io"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// loopback is the index of the interface lo, the first one in a new namespace.
const loopback = 1

// encodeNetwork adds the netlink messages by which all connections of a jail's network end at its
// host.
func (d *draft) encodeNetwork() error {
	var err [4]error
	d.Net.Route4, err[0] = localRoute(unix.AF_INET)
	d.Net.Route6, err[1] = localRoute(unix.AF_INET6)
	d.Net.Redirect, err[2] = redirect(d.Loopback, loopback4, loopback6)
	d.Net.Redirect4, err[3] = redirect(d.Loopback, loopback4)
	for _, err := range err {
		if err != nil {
			return err
		}
	}
	return nil
}

// localRoute returns the message that makes every address of a family local.
func localRoute(family uint8) ([]byte, error) {
	route := []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0} // struct rtmsg
	attributes, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.RTA_OIF, Data: binary.NativeEndian.AppendUint32(nil, loopback)},
	})
	if err != nil {
		return nil, err
	}
	data := append(route, attributes...)
	return netlink.Message{
		Header: netlink.Header{Length: uint32(unix.SizeofNlMsghdr + len(data)), Type: unix.RTM_NEWROUTE,
			Flags: netlink.Request | netlink.Acknowledge | netlink.Create},
		Data: data,
	}.MarshalBinary()
}

// An address compares a destination with the loopback addresses of one family.
type address func(op expr.CmpOp) []expr.Any

// redirect returns the messages that redirect every TCP connection of some families to RedirectPort
// on the loopback interface. Of connections to loopback addresses, only those to the given ports
// are redirected, because these are meant for the host's loopback interface.
func redirect(ports []uint16, families ...address) ([]byte, error) {
	var r recorder
	conn, err := nftables.New(nftables.WithTestDial(r.record))
	if err != nil {
		return nil, err
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
	for _, address := range families {
		add(address(expr.CmpOpNeq), isTCP(), toPort(jail.RedirectPort))
		for _, port := range ports {
			add(address(expr.CmpOpEq), isTCP(), isPort(port), toPort(jail.RedirectPort))
		}
	}
	if err := conn.Flush(); err != nil {
		return nil, err
	}
	return r.messages, r.err
}

// A recorder takes the place of the kernel and records the messages for it. The jail sends them, in
// another process.
type recorder struct {
	messages []byte
	err      error
}

// record records messages. It answers nothing, which the library expects as io.EOF. It asks the
// kernel not to echo rules, and to acknowledge only the message of the table. The kernel reports
// errors in any case, and carries out all of the messages or none.
func (r *recorder) record(messages []netlink.Message) ([]netlink.Message, error) {
	for i, m := range messages {
		m.Header.Sequence = uint32(i + 1) // the library begins with a random number, but equal plans must have equal bytes
		m.Header.Flags &^= netlink.Echo
		if m.Header.Type != unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_NEWTABLE {
			m.Header.Flags &^= netlink.Acknowledge
		}
		b, err := m.MarshalBinary()
		if err != nil {
			r.err = err
		}
		r.messages = append(r.messages, b...)
	}
	return nil, io.EOF
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

// isPort compares the destination's port. Port 0 matches every port.
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

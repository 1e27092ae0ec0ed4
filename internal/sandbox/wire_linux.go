package sandbox

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// loopback is the index of the interface lo, the first one in a new namespace.
const loopback = 1

// encodeNetwork adds the netlink messages by which all connections of a jail's network end at its
// host. The jail sends them, in another process.
func (d *draft) encodeNetwork() {
	d.Net.Route4, d.Net.Route6 = localRoute(unix.AF_INET), localRoute(unix.AF_INET6)
	d.Net.Redirect = redirect(d.Loopback, loopback4, loopback6)
	d.Net.Redirect4 = redirect(d.Loopback, loopback4)
}

// localRoute returns the message that makes every address of a family local.
func localRoute(family uint8) []byte {
	route := []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0} // struct rtmsg
	return netlinkMessage{kind: unix.RTM_NEWROUTE, flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE,
		body: append(route, attribute(unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopback))...)}.encode()
}

// The names of the table and of its chain in a jail.
const (
	tableName = "patchbay"
	chainName = "output"
)

// An address compares a destination with the loopback addresses of one family.
type address func(op uint32) []expression

// redirect returns the messages that redirect every TCP connection of some families to RedirectPort
// on the loopback interface. Of connections to loopback addresses, only those to the given ports
// are redirected, because these are meant for the host's loopback interface.
//
// Only the message of the table asks for an acknowledgement. The kernel reports errors in any case.
func redirect(ports []uint16, families ...address) []byte {
	var r ruleset
	r.begin()
	r.addNew(unix.NFT_MSG_NEWTABLE, unix.NLM_F_ACK, named(unix.NFTA_TABLE_NAME, tableName), number(unix.NFTA_TABLE_FLAGS, 0))
	r.addNew(unix.NFT_MSG_NEWCHAIN, 0, named(unix.NFTA_CHAIN_TABLE, tableName), named(unix.NFTA_CHAIN_NAME, chainName),
		nested(unix.NFTA_CHAIN_HOOK, number(unix.NFTA_HOOK_HOOKNUM, unix.NF_INET_LOCAL_OUT), number(unix.NFTA_HOOK_PRIORITY, beforeRouting)),
		named(unix.NFTA_CHAIN_TYPE, "nat"))
	for _, address := range families {
		r.addRule(address(unix.NFT_CMP_NEQ), isTCP(), toPort(jail.RedirectPort))
		for _, port := range ports {
			r.addRule(address(unix.NFT_CMP_EQ), isTCP(), isPort(port), toPort(jail.RedirectPort))
		}
	}
	r.end()
	return r.messages
}

// beforeRouting is the usual priority of chains that change destinations (NF_IP_PRI_NAT_DST),
// negative, in two's complement.
const beforeRouting = ^uint32(100) + 1

func (r *ruleset) addRule(steps ...[]expression) {
	r.addNew(unix.NFT_MSG_NEWRULE, unix.NLM_F_APPEND, named(unix.NFTA_RULE_TABLE, tableName), named(unix.NFTA_RULE_CHAIN, chainName),
		nested(unix.NFTA_RULE_EXPRESSIONS, slices.Concat(steps...)...))
}

// loopback4 compares a destination with 127.0.0.0/8.
func loopback4(op uint32) []expression {
	return []expression{loadMeta(unix.NFT_META_NFPROTO), compare(unix.NFT_CMP_EQ, unix.NFPROTO_IPV4),
		loadPayload(unix.NFT_PAYLOAD_NETWORK_HEADER, 16, 1), compare(op, 127)}
}

// loopback6 compares a destination with ::1.
func loopback6(op uint32) []expression {
	one := [16]byte{15: 1}
	return []expression{loadMeta(unix.NFT_META_NFPROTO), compare(unix.NFT_CMP_EQ, unix.NFPROTO_IPV6),
		loadPayload(unix.NFT_PAYLOAD_NETWORK_HEADER, 24, 16), compare(op, one[:]...)}
}

func isTCP() []expression {
	return []expression{loadMeta(unix.NFT_META_L4PROTO), compare(unix.NFT_CMP_EQ, unix.IPPROTO_TCP)}
}

// isPort compares the destination's port. Port 0 matches every port.
func isPort(port uint16) []expression {
	if port == 0 {
		return nil
	}
	return []expression{loadPayload(unix.NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2), compare(unix.NFT_CMP_EQ, byte(port>>8), byte(port))}
}

func toPort(port uint16) []expression {
	return []expression{loadData(byte(port>>8), byte(port)), redirectToRegister()}
}

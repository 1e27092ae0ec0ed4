package sandbox

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// netlinkMessage is one message for the kernel, in the format of netlink(7).
type netlinkMessage struct {
	kind     uint16
	flags    uint16
	sequence uint32
	port     uint32
	body     []byte
}

// encode returns the message with its header. All fields of a header are in the order of bytes of
// the machine.
func (m netlinkMessage) encode() []byte {
	out := make([]byte, 0, unix.SizeofNlMsghdr+len(m.body))
	out = binary.NativeEndian.AppendUint32(out, uint32(cap(out)))
	out = binary.NativeEndian.AppendUint16(out, m.kind)
	out = binary.NativeEndian.AppendUint16(out, m.flags)
	out = binary.NativeEndian.AppendUint32(out, m.sequence)
	out = binary.NativeEndian.AppendUint32(out, m.port)
	return append(out, m.body...)
}

// attribute returns one attribute: its length, its kind and its data, filled up to a multiple of
// four bytes. The length does not count the filling.
func attribute(kind uint16, data []byte) []byte {
	size := unix.SizeofNlAttr + len(data)
	out := binary.NativeEndian.AppendUint16(nil, uint16(size))
	out = binary.NativeEndian.AppendUint16(out, kind)
	out = append(out, data...)
	return append(out, make([]byte, -size&(unix.NLA_ALIGNTO-1))...)
}

// nested returns an attribute that consists of attributes.
func nested(kind uint16, attributes ...[]byte) []byte {
	return attribute(kind|unix.NLA_F_NESTED, slices.Concat(attributes...))
}

// number returns an attribute of nftables that is a number: its first byte is the highest.
func number(kind uint16, n uint32) []byte {
	return attribute(kind, binary.BigEndian.AppendUint32(nil, n))
}

// named returns an attribute that is a name, which ends with a zero byte.
func named(kind uint16, name string) []byte { return attribute(kind, append([]byte(name), 0)) }

// An expression is one step of a rule of nftables, as an attribute. Each one uses only the first
// register.
type expression = []byte

func newExpression(name string, attributes ...[]byte) expression {
	return nested(unix.NFTA_LIST_ELEM, named(unix.NFTA_EXPR_NAME, name), nested(unix.NFTA_EXPR_DATA, attributes...))
}

// loadMeta puts a property of the packet into the register.
func loadMeta(key uint32) expression {
	return newExpression("meta", number(unix.NFTA_META_KEY, key), number(unix.NFTA_META_DREG, unix.NFT_REG_1))
}

// loadPayload puts some bytes of one of the packet's headers into the register.
func loadPayload(header, offset, length uint32) expression {
	return newExpression("payload", number(unix.NFTA_PAYLOAD_DREG, unix.NFT_REG_1), number(unix.NFTA_PAYLOAD_BASE, header),
		number(unix.NFTA_PAYLOAD_OFFSET, offset), number(unix.NFTA_PAYLOAD_LEN, length))
}

// compare ends the rule unless the register is equal to data (NFT_CMP_EQ), or is not (NFT_CMP_NEQ).
func compare(op uint32, data ...byte) expression {
	return newExpression("cmp", number(unix.NFTA_CMP_SREG, unix.NFT_REG_1), number(unix.NFTA_CMP_OP, op),
		nested(unix.NFTA_CMP_DATA, attribute(unix.NFTA_DATA_VALUE, data)))
}

// loadData puts data into the register.
func loadData(data ...byte) expression {
	return newExpression("immediate", number(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_1),
		nested(unix.NFTA_IMMEDIATE_DATA, attribute(unix.NFTA_DATA_VALUE, data)))
}

// redirectToRegister sends the connection to the port of this machine that is in the register.
func redirectToRegister() expression {
	return newExpression("redir", number(unix.NFTA_REDIR_REG_PROTO_MIN, unix.NFT_REG_1))
}

// A ruleset collects the messages that create a table, its chain and its rules. The kernel carries
// out all of them or none.
type ruleset struct {
	messages []byte
	sequence uint32
}

// add adds a message. family is the one of its table; resource is 0 unless the message begins or
// ends the batch.
func (r *ruleset) add(kind, flags uint16, family byte, resource uint16, attributes ...[]byte) {
	r.sequence++
	body := binary.BigEndian.AppendUint16([]byte{family, unix.NFNETLINK_V0}, resource) // struct nfgenmsg
	r.messages = append(r.messages, netlinkMessage{kind: kind, flags: unix.NLM_F_REQUEST | flags, sequence: r.sequence, port: rulesetPort,
		body: slices.Concat(body, slices.Concat(attributes...))}.encode()...)
}

// addNew adds a message that creates something in a table of IPv4 and IPv6.
func (r *ruleset) addNew(kind, flags uint16, attributes ...[]byte) {
	r.add(unix.NFNL_SUBSYS_NFTABLES<<8|kind, unix.NLM_F_CREATE|flags, unix.NFPROTO_INET, 0, attributes...)
}

// begin and end enclose the messages that belong together.
func (r *ruleset) begin() { r.add(unix.NFNL_MSG_BATCH_BEGIN, 0, 0, unix.NFNL_SUBSYS_NFTABLES) }
func (r *ruleset) end()   { r.add(unix.NFNL_MSG_BATCH_END, 0, 0, unix.NFNL_SUBSYS_NFTABLES) }

// rulesetPort is the sender of the messages. The kernel accepts any number here.
const rulesetPort = 1

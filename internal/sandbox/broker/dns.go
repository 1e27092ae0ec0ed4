package broker

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// maxQuery is larger than a query with one question and EDNS options: RFC 9715 advises at most
	// 1232 or 1400 bytes for any message.
	maxQuery = 4096

	// ednsSize is the message size that answers announce, that of DNS Flag Day 2020. The answers
	// themselves stay far below the 512 bytes of plain DNS.
	ednsSize = 1232

	// ttl is how many seconds an answer may be cached. A fake address stays the same while the
	// broker runs. The limit is for caches that outlive the plugin's namespace.
	ttl = 60
)

// ServeDNS answers the plugin's look-ups until Close is called or c is closed. It owns c and closes
// it in the end.
//
// Queries are answered one at a time, so a flood of queries occupies only one goroutine. Nothing is
// forwarded, so an answer takes microseconds. Only after a denial it may take as long as
// reportTime.
func (b *Broker) ServeDNS(c net.PacketConn) {
	if !b.enter(c) {
		return
	}
	defer b.leave(c)
	var pause pause
	buf := make([]byte, maxQuery)
	for {
		n, from, err := c.ReadFrom(buf)
		if err == nil {
			err = b.reply(c, from, buf[:n])
		}
		if err == nil {
			pause = 0
		} else if !b.pauseAfter(err, &pause) {
			return
		}
	}
}

// reply answers one packet, if it is a query.
func (b *Broker) reply(c net.PacketConn, to net.Addr, query []byte) error {
	answer, denied := b.policy.answer(query)
	if denied != nil {
		b.denials.add(*denied)
	}
	if answer == nil {
		return nil
	}
	_, err := c.WriteTo(answer, to)
	return err
}

// A lookup is one query and its answer.
type lookup struct {
	header    dnsmessage.Header // of the answer
	questions []dnsmessage.Question
	body      dnsmessage.ResourceBody // the only record of the answer; may be nil
	edns      bool                    // the query had an OPT record, so the answer gets one
}

// answer returns the reply to a packet, and a denial if the name is not granted. The reply is nil
// if the packet is not a query.
func (p *policy) answer(query []byte) ([]byte, *Denial) {
	var parser dnsmessage.Parser
	h, err := parser.Start(query)
	if err != nil || h.Response {
		return nil, nil
	}
	l := lookup{header: dnsmessage.Header{
		ID: h.ID, OpCode: h.OpCode, Response: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true,
	}}
	var denied *Denial
	if l.header.RCode = l.read(&parser, h); l.header.RCode == dnsmessage.RCodeSuccess {
		denied = p.look(&l)
	}
	return l.pack(), denied
}

// read reads the question and returns RCodeSuccess if it can be answered.
func (l *lookup) read(parser *dnsmessage.Parser, h dnsmessage.Header) dnsmessage.RCode {
	if h.OpCode != 0 { // RFC 1035: 0 is a standard query
		return dnsmessage.RCodeNotImplemented
	}
	q, err := parser.Question()
	if err != nil {
		return dnsmessage.RCodeFormatError
	}
	if _, err := parser.Question(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return dnsmessage.RCodeFormatError // RFC 9619: a query has one question
	}
	l.questions = []dnsmessage.Question{q}
	l.edns = hasEDNS(parser)
	if q.Class != dnsmessage.ClassINET {
		return dnsmessage.RCodeRefused
	}
	return dnsmessage.RCodeSuccess
}

// hasEDNS reports whether an OPT record follows the question. An unreadable record counts as
// missing.
func hasEDNS(parser *dnsmessage.Parser) bool {
	if parser.SkipAllAnswers() != nil || parser.SkipAllAuthorities() != nil {
		return false
	}
	for {
		h, err := parser.AdditionalHeader()
		if err != nil {
			return false
		}
		if h.Type == dnsmessage.TypeOPT {
			return true
		}
		if parser.SkipAdditional() != nil {
			return false
		}
	}
}

// look finds the answer to a question. A known name without a record of the requested type gets an
// empty answer. NXDOMAIN would mean that the name itself does not exist.
func (p *policy) look(l *lookup) *Denial {
	q := l.questions[0]
	name := cleanName(q.Name.String())
	fake, granted := p.fakes[name]
	switch {
	case granted && q.Type == dnsmessage.TypeA:
		l.body = &dnsmessage.AResource{A: fake.As4()}
	case name == localhost && q.Type == dnsmessage.TypeA:
		l.body = &dnsmessage.AResource{A: loopback4.As4()}
	case name == localhost && q.Type == dnsmessage.TypeAAAA:
		l.body = &dnsmessage.AAAAResource{AAAA: loopback6.As16()}
	case granted || name == localhost:
	case strings.HasSuffix(name, ".in-addr.arpa"), strings.HasSuffix(name, ".ip6.arpa"):
		p.lookBack(l, name) // no denial, because no grant would change the answer
	default:
		l.header.RCode = dnsmessage.RCodeNameError
		printed, capability := printName(name, "<port>")
		return &Denial{What: "look-up of " + printed, Capability: capability}
	}
	return nil
}

// lookBack answers a reverse look-up. For a fake address the answer is its granted name.
func (p *policy) lookBack(l *lookup, reverse string) {
	name, ok := p.back[reversed(reverse)]
	target, err := dnsmessage.NewName(name + ".")
	switch {
	case !ok || err != nil:
		l.header.RCode = dnsmessage.RCodeNameError
	case l.questions[0].Type == dnsmessage.TypePTR:
		l.body = &dnsmessage.PTRResource{PTR: target}
	}
}

// reversed returns the IPv4 address in a name such as 1.0.18.198.in-addr.arpa, or the invalid
// address.
func reversed(name string) netip.Addr {
	digits, ok := strings.CutSuffix(name, ".in-addr.arpa")
	parts := strings.Split(digits, ".")
	if !ok || len(parts) != 4 {
		return netip.Addr{}
	}
	var a [4]byte
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return netip.Addr{}
		}
		a[3-i] = byte(n)
	}
	return netip.AddrFrom4(a)
}

// pack encodes the answer. It returns nil if that fails: no answer is better than a wrong one.
func (l *lookup) pack() []byte {
	m := dnsmessage.Message{Header: l.header, Questions: l.questions}
	if l.body != nil {
		q := l.questions[0]
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: ttl}, Body: l.body,
		}}
	}
	if l.edns {
		var h dnsmessage.ResourceHeader
		if err := h.SetEDNS0(ednsSize, l.header.RCode, false); err != nil {
			return nil
		}
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

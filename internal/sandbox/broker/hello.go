package broker

import (
	"errors"
	"io"
)

// A TLS connection begins with a ClientHello, which names the server in clear text (RFC 8446,
// section 4.1.2; RFC 6066, section 3). Other parsers read the same bytes later. So everything that
// two parsers could read differently is refused: a list of several names, an extension that occurs
// twice, bytes after the end.

const (
	// maxHello bounds the bytes that are read and kept. A hello has a few hundred bytes, up to 2
	// KiB with post-quantum keys, and a few more with session tickets. TLS libraries accept at most
	// 64 KiB.
	maxHello = 64 << 10

	recordHeader     = 5       // type, version, length
	maxRecord        = 1 << 14 // RFC 8446, 5.1: "The length MUST NOT exceed 2^14 bytes."
	recordHandshake  = 22
	messageHeader    = 4 // type, length
	helloMessage     = 1
	extServerName    = 0
	extEncrypted     = 0xfe0d // encrypted_client_hello, RFC 9849
	extEncryptedName = 0xffce // encrypted_server_name, the draft before it
)

// The reasons to refuse a hello.
var (
	errNoTLS     = errors.New("something other than TLS")
	errMalformed = errors.New("a malformed TLS hello")
	errNoName    = errors.New("TLS without a server name")
	errEncrypted = errors.New("TLS with an encrypted server name (ECH)")
)

// readHello reads a ClientHello, and no byte beyond the record in which it ends. It returns all
// bytes read, to be passed on, and the message without its header. The message may be spread over
// several records.
func readHello(r io.Reader) (raw, hello []byte, err error) {
	want := messageHeader
	for len(hello) < want {
		start := len(raw)
		if raw, err = readRecord(r, raw); err != nil {
			return raw, nil, err
		}
		hello = append(hello, raw[start+recordHeader:]...)
		if len(hello) >= messageHeader {
			want = messageHeader + uint24(hello[1:])
		}
		if hello[0] != helloMessage || want > maxHello {
			return raw, nil, errMalformed
		}
	}
	if len(hello) > want {
		return raw, nil, errMalformed // a client sends nothing more before the server has answered
	}
	return raw, hello[messageHeader:], nil
}

// readRecord appends one handshake record to raw, with its header.
func readRecord(r io.Reader, raw []byte) ([]byte, error) {
	var header [recordHeader]byte
	n, err := io.ReadFull(r, header[:])
	raw = append(raw, header[:n]...)
	if n > 0 && header[0] != recordHandshake || n > 1 && header[1] != 3 { // 3 is the major version of SSL 3.0 and all versions of TLS
		return raw, errNoTLS
	}
	if err != nil {
		return raw, err
	}
	length := int(header[3])<<8 | int(header[4])
	if length == 0 || length > maxRecord || len(raw)+length > maxHello {
		return raw, errMalformed
	}
	raw = append(raw, make([]byte, length)...)
	_, err = io.ReadFull(r, raw[len(raw)-length:])
	return raw, err
}

func uint24(b []byte) int { return int(b[0])<<16 | int(b[1])<<8 | int(b[2]) }

// serverName returns the server name in a ClientHello.
func serverName(hello []byte) (string, error) {
	c := cursor(hello)
	extensions, ok := c.extensions()
	if !ok {
		return "", errMalformed
	}
	var name string
	for len(extensions) > 0 {
		kind, okKind := extensions.number(2)
		body, okBody := extensions.vector(2)
		switch {
		case !okKind || !okBody:
			return "", errMalformed
		case kind == extEncrypted || kind == extEncryptedName:
			return "", errEncrypted
		case kind == extServerName && name != "":
			return "", errMalformed
		case kind == extServerName:
			if name, ok = body.hostName(); !ok {
				return "", errMalformed
			}
		}
	}
	if name == "" {
		return "", errNoName
	}
	return name, nil
}

// A cursor is the unread rest of a message. Its methods return false if fewer bytes are left than
// they need.
type cursor []byte

func (c *cursor) take(n int) (cursor, bool) {
	if n > len(*c) {
		return nil, false
	}
	taken := (*c)[:n]
	*c = (*c)[n:]
	return taken, true
}

// number reads a big-endian number of size bytes.
func (c *cursor) number(size int) (int, bool) {
	digits, ok := c.take(size)
	n := 0
	for _, d := range digits {
		n = n<<8 | int(d)
	}
	return n, ok
}

// vector reads a length of size bytes, and then as many bytes as it says.
func (c *cursor) vector(size int) (cursor, bool) {
	n, ok := c.number(size)
	if !ok {
		return nil, false
	}
	return c.take(n)
}

// extensions reads a ClientHello up to its extensions, which must be its last field.
func (c *cursor) extensions() (cursor, bool) {
	_, okVersion := c.take(2 + 32) // legacy_version, random
	_, okSession := c.vector(1)
	_, okSuites := c.vector(2)
	_, okCompression := c.vector(1)
	if !okVersion || !okSession || !okSuites || !okCompression {
		return nil, false
	}
	if len(*c) == 0 {
		return nil, true // TLS 1.2 allows a hello without extensions
	}
	extensions, ok := c.vector(2)
	return extensions, ok && len(*c) == 0
}

// hostName reads a server_name extension. RFC 6066: "The ServerNameList MUST NOT contain more than
// one name of the same name_type". The only type is host_name, 0.
func (c *cursor) hostName() (string, bool) {
	list, okList := c.vector(2)
	kind, okKind := list.number(1)
	name, okName := list.vector(2)
	ok := okList && okKind && okName && kind == 0 && len(list) == 0 && len(*c) == 0
	return string(name), ok && len(name) > 0
}

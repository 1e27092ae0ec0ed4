package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/minio/highwayhash"
)

// ServerVersion is the version of nats-server for whose files this package was written and tested.
const ServerVersion = "2.15.2"

const (
	headSize = 22 // length, sequence, time, subject length
	hashSize = 8
	// maxRecord is the longest record that the server accepts.
	maxRecord = 32 << 20

	headerBit  = 1 << 31 // of the length
	deletedBit = 1 << 63 // of the sequence
	markBit    = 1 << 62 // of the sequence
)

// A kind says what a record means.
type kind uint8

const (
	message  kind = iota
	deleted       // a message that was deleted in its place
	mark          // says that a message elsewhere was deleted
	repeated      // a message whose number is not above those before it: the server passes over it
)

// A record is one undamaged record of a block.
type record struct {
	offset, size int
	sequence     uint64
	time         int64 // in nanoseconds since 1970
	kind         kind
}

func (r record) end() int { return r.offset + r.size }

// newHash returns the hash for the records of a block.
func newHash(stream string, block uint32) hash.Hash64 {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", stream, block))
	return keyed(key)
}

func keyed(key [sha256.Size]byte) hash.Hash64 {
	h, err := highwayhash.New64(key[:])
	if err != nil {
		panic(err) // the key has 32 bytes, which is all it requires
	}
	return h
}

// parse decodes the record at an offset. ok is false if there is no undamaged record.
func parse(data []byte, offset int, h hash.Hash64) (r record, ok bool) {
	r, body, ok := head(data, offset)
	if !ok {
		return record{}, false
	}
	return r, body.hasValidHash(data[offset:r.end()], h)
}

// A body holds the offsets of a record's parts.
type body struct {
	subject int // the end of the subject
	rest    int // the beginning of header and message
	headers bool
}

// head decodes the lengths of a record, and checks that they are consistent.
func head(data []byte, offset int) (record, body, bool) {
	if len(data)-offset < headSize+hashSize {
		return record{}, body{}, false
	}
	b := data[offset:]
	length := binary.LittleEndian.Uint32(b)
	headers := length&headerBit != 0
	length &^= headerBit
	if length < headSize+hashSize || length > maxRecord || int(length) > len(b) {
		return record{}, body{}, false
	}
	parts := body{subject: headSize + int(binary.LittleEndian.Uint16(b[20:])), headers: headers}
	parts.rest = parts.subject
	if headers {
		parts.rest += 4
	}
	if parts.rest > int(length)-hashSize {
		return record{}, body{}, false
	}
	r := record{offset: offset, size: int(length), time: int64(binary.LittleEndian.Uint64(b[12:]))}
	r.sequence, r.kind = sequenceOf(binary.LittleEndian.Uint64(b[4:]))
	return r, parts, true
}

func sequenceOf(raw uint64) (uint64, kind) {
	switch {
	case raw&markBit != 0:
		return raw &^ markBit, mark
	case raw&deletedBit != 0, raw == 0:
		return raw &^ deletedBit, deleted
	}
	return raw, message
}

// hasValidHash compares the hash. It also checks the header length, which could split a message
// wrongly without changing the hash.
func (p body) hasValidHash(raw []byte, h hash.Hash64) bool {
	end := len(raw) - hashSize
	if p.headers && !wholeHeader(raw[p.rest:end], binary.LittleEndian.Uint32(raw[p.subject:])) {
		return false
	}
	h.Reset()
	h.Write(raw[4:20])
	h.Write(raw[headSize:p.subject])
	h.Write(raw[p.rest:end])
	var sum [hashSize]byte
	return bytes.Equal(h.Sum(sum[:0]), raw[end:])
}

func wholeHeader(rest []byte, length uint32) bool {
	if uint64(length) > uint64(len(rest)) {
		return false
	}
	return bytes.HasPrefix(rest, []byte("NATS/1.0")) && bytes.HasSuffix(rest[:length], []byte("\r\n\r\n"))
}

// appendMark adds a record that marks the message of a sequence number as deleted. In its own block
// it keeps the server from using that number, and lower ones, again.
func appendMark(b []byte, sequence uint64, at int64, h hash.Hash64) []byte {
	begin := len(b)
	b = binary.LittleEndian.AppendUint32(b, headSize+hashSize)
	b = binary.LittleEndian.AppendUint64(b, sequence|markBit)
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint16(b, 0)
	h.Reset()
	h.Write(b[begin+4 : begin+20])
	return h.Sum(b)
}

// Messages counts the messages of a block, also those that its marks name as deleted. damage lists
// the bytes that are not records.
func Messages(stream string, number uint32, data []byte) (n int, damage []Span) {
	s := scan(data, newHash(stream, number))
	for _, r := range s.records {
		if r.kind == message {
			n++
		}
	}
	return n, s.damage
}

package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// write returns a record as the server writes it. Apart from the hash it does not use the code
// under test.
func write(b []byte, seq uint64, subject, header, data string) []byte {
	head := make([]byte, headSize)
	length := uint32(headSize + len(subject) + len(data) + hashSize)
	if header != "" {
		length += uint32(4+len(header)) | headerBit
	}
	binary.LittleEndian.PutUint32(head, length)
	binary.LittleEndian.PutUint64(head[4:], seq)
	binary.LittleEndian.PutUint64(head[12:], 1_800_000_000_000_000_000+seq)
	binary.LittleEndian.PutUint16(head[20:], uint16(len(subject)))
	h := newHash("s", 1)
	h.Write(head[4:20])
	h.Write([]byte(subject + header + data))
	b = append(append(b, head...), subject...)
	if header != "" {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(header))), header...)
	}
	return h.Sum(append(b, data...))
}

const header = "NATS/1.0\r\nNats-Msg-Id: x\r\n\r\n"

func tenRecords() (block []byte, at []int) {
	for i := range 10 {
		at = append(at, len(block))
		block = write(block, uint64(i+1), "a.b", header, strings.Repeat("data", i))
	}
	return block, at
}

func sequences(s scanned) (out []uint64) {
	for _, r := range s.records {
		out = append(out, r.sequence)
	}
	return out
}

// TestScanFindsEveryWholeRecord changes each byte of a block, one at a time. Exactly the record of
// that byte is lost.
func TestScanFindsEveryWholeRecord(t *testing.T) {
	block, at := tenRecords()
	for i := range block {
		harmed := bytes.Clone(block)
		harmed[i] ^= 0xff
		var want []uint64
		for n := range at {
			end := len(block)
			if n+1 < len(at) {
				end = at[n+1]
			}
			if i < at[n] || i >= end {
				want = append(want, uint64(n+1))
			}
		}
		if got := sequences(scan(harmed, newHash("s", 1))); !slices.Equal(got, want) {
			t.Errorf("byte %d: found %v, want %v", i, got, want)
		}
	}
}

func TestScan(t *testing.T) {
	block, at := tenRecords()
	for _, c := range []struct {
		rule string
		data []byte
		want []uint64
		torn bool
		span int
	}{
		{"a whole block has no damage", block, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, false, 0},
		{"an empty block has nothing", nil, nil, false, 0},
		{"a record that is cut short at the end is torn", block[:len(block)-3], []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}, true, 1},
		{"so is a head that is cut short", block[:at[9]+5], []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}, true, 1},
		{"zeros at the end are damage", append(bytes.Clone(block), make([]byte, 100)...), []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, false, 1},
		{"a hole of zeros", append(append(bytes.Clone(block[:at[2]]), make([]byte, at[5]-at[2])...), block[at[5]:]...),
			[]uint64{1, 2, 6, 7, 8, 9, 10}, false, 1},
		{"bytes that were removed", append(bytes.Clone(block[:at[2]+10]), block[at[4]+3:]...), []uint64{1, 2, 6, 7, 8, 9, 10}, false, 1},
		{"a record of another block is not a record", otherBlock(), nil, false, 1},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := scan(c.data, newHash("s", 1))
			if !slices.Equal(sequences(s), c.want) || s.torn != c.torn || len(s.damage) != c.span {
				t.Errorf("found %v, torn %t, damage %v; want %v, %t, %d spans", sequences(s), s.torn, s.damage, c.want, c.torn, c.span)
			}
		})
	}
}

func otherBlock() []byte {
	b := write(nil, 1, "a.b", header, "data")
	b[len(b)-1]++ // has the same effect as another key
	return b
}

// TestScanTakesNoMessageForARecord checks that a record with a valid hash inside a damaged message
// is not mistaken for a record.
func TestScanTakesNoMessageForARecord(t *testing.T) {
	forged := string(write(nil, 2, "a.b", header, "forged"))
	block := write(nil, 1, "a.b", header, "first")
	second := len(block)
	block = write(block, 2, "a.b", header, "real "+forged+" real")
	block = write(block, 3, "a.b", header, "third")
	block[second+headSize+3+4+len(header)] ^= 0xff // the r of "real"
	if got := sequences(scan(block, newHash("s", 1))); !slices.Equal(got, []uint64{1, 3}) {
		t.Errorf("found %v, want 1 and 3", got)
	}
}

// FuzzScan checks that the records and the damage of a block cover it completely, in order and
// without overlap, and that the records make an undamaged block.
func FuzzScan(tf *testing.F) {
	f := variants.Of(tf)
	block, at := tenRecords()
	f.Add(block)
	f.Add(block[at[3]+1:])
	f.Add(append(bytes.Clone(block[:at[4]]), block[at[6]:]...))
	f.Add(appendMark(nil, 7, 1_800_000_000_000_000_000, newHash("s", 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scan(data, newHash("s", 1))
		var spans []Span
		var whole []byte
		for _, r := range s.records {
			spans = append(spans, Span{int64(r.offset), int64(r.end())})
			whole = append(whole, data[r.offset:r.end()]...)
		}
		spans = append(spans, s.damage...)
		slices.SortFunc(spans, func(a, b Span) int { return int(a.From - b.From) })
		next := int64(0)
		for _, span := range spans {
			if span.From != next || span.To <= span.From {
				t.Fatalf("span %+v after %d", span, next)
			}
			next = span.To
		}
		if next != int64(len(data)) {
			t.Fatalf("covered up to %d of %d", next, len(data))
		}
		if again := scan(whole, newHash("s", 1)); len(again.damage) != 0 || len(again.records) != len(s.records) {
			t.Fatalf("the whole records alone: %d of %d, damage %v", len(again.records), len(s.records), again.damage)
		}
	})
}

func signIndex(data []byte, stream string) []byte {
	h := keyed(sha256.Sum256([]byte(stream)))
	h.Write(data)
	return h.Sum(bytes.Clone(data))
}

// FuzzIndex checks that an index is refused, or has no more blocks than bytes.
func FuzzIndex(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte{}, true)
	f.Add([]byte{11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}, true)
	f.Add([]byte(fmt.Sprint(11)), false)
	f.Fuzz(func(t *testing.T, data []byte, signed bool) {
		if signed { // so that the fields are decoded
			data = signIndex(data, "s")
		}
		x, err := parseIndex(data, "s")
		if err == nil && len(x.blocks) > len(data) {
			t.Fatalf("%d blocks in %d bytes", len(x.blocks), len(data))
		}
	})
}

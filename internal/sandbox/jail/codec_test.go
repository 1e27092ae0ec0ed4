package jail

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// full returns a plan in which no field is zero.
func full() *Plan {
	return &Plan{
		Path: "/a", Argv: []string{"a", "\x00\n", ""}, Env: []string{"A=\"b\""}, Dir: "/ä",
		User: 1000, Group: 100, Files: 2, Simple: true, Probe: true, Ahead: true,
		Mounts: []Mount{
			{Kind: Bind, Source: "/ä", Target: "/b", Write: true, Exec: true, Devices: true, Missing: true, Lend: true},
			{Kind: File, Target: "/c", Content: strings.Repeat("x", 300)},
			{Kind: Temp, Target: "/d", Size: math.MaxInt64, Files: 65536},
		},
		Net: Net{Shared: true, Broker: true, Ports: []uint16{0, 80, math.MaxUint16}, AllPorts: true,
			Route4: []byte{1}, Route6: []byte{2, 0}, Redirect: []byte{3}, Redirect4: []byte{4}},
		Landlock: Landlock{Handled: math.MaxUint64, Scoped: 3, Rules: []Rule{{"/", 1}, {"/b", math.MaxUint64}}},
		Limits:   []Limit{{Resource: 7, Cur: 1, Max: math.MaxUint64}},
		Filter:   []byte{0, 1, 2},
		Loaders:  [][]byte{{0x7f, 'E', 0}, {1}},
	}
}

// TestCodec: every message is read as it was written.
func TestCodec(t *testing.T) {
	r := Report{Sockets: "ports", Built: true, Seen: []Identity{{1, math.MaxUint64}, {}}, Stale: true, Starts: true, Runs: true, Stage: "mount /a", Error: "no", Errno: 13, Notes: []string{"a", ""}}
	s := supplied{opened: true, mounts: []int{0, 7}, last: true, notes: []string{"n"}}
	for _, c := range []struct{ sent, got message }{
		{full(), new(Plan)}, {new(Plan), new(Plan)}, {&r, new(Report)}, {new(Report), new(Report)},
		{&s, new(supplied)}, {&ended{math.MaxUint32}, new(ended)},
	} {
		if !decode(encode(c.sent), c.got) || !reflect.DeepEqual(c.sent, c.got) {
			t.Errorf("%+v became %+v", c.sent, c.got)
		}
	}
	t.Run("no field was forgotten here", func(t *testing.T) { allSet(t, reflect.ValueOf(*full()), "Plan") })
}

// TestProtocol: a plan is encoded as it was when the protocol got its number.
func TestProtocol(t *testing.T) {
	sum := sha256.Sum256(append(full().Encode(), (&Report{Sockets: "ports", Built: true, Seen: []Identity{{1, 2}}, Stale: true, Starts: true, Runs: true, Stage: "s", Error: "e", Errno: 13, Notes: []string{"n"}}).Encode()...))
	if got, want := fmt.Sprintf("%x", sum[:8]), "8d07265648bc5a5a"; got != want {
		t.Errorf("the encoding of plans has changed (%s, not %s): raise Protocol, and put the new sum here", got, want)
	}
}

// allSet fails for each field of a struct that is zero. In a list of structs, each field must be
// set in at least one element.
func allSet(t *testing.T, v reflect.Value, name string) {
	t.Helper()
	for i := range v.NumField() {
		field, name := v.Field(i), name+"."+v.Type().Field(i).Name
		switch {
		case field.Kind() == reflect.Struct:
			allSet(t, field, name)
		case field.IsZero():
			t.Errorf("%s is zero", name)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			someSet(t, field, name)
		}
	}
}

func someSet(t *testing.T, list reflect.Value, name string) {
	t.Helper()
	for i := range list.Type().Elem().NumField() {
		set := false
		for j := range list.Len() {
			set = set || !list.Index(j).Field(i).IsZero()
		}
		if !set {
			t.Errorf("%s.%s is zero", name, list.Type().Elem().Field(i).Name)
		}
	}
}

// TestCodecRefuses: only the exact encoding is accepted. A length is refused before memory is
// allocated for it: the test announces more bytes than a machine has.
func TestCodecRefuses(t *testing.T) {
	data := full().Encode()
	for n := range data {
		if _, ok := DecodePlan(data[:n]); ok {
			t.Errorf("a plan of %d bytes was read from %d", len(data), n)
		}
	}
	if _, ok := DecodePlan(append(data, 0)); ok {
		t.Error("a plan with trailing bytes was read")
	}
	word := func(n uint64) []byte { c := codec{}; c.word(n); return c.data }
	for _, c := range []struct {
		rule string
		data []byte
		into message
	}{
		{"a number that is too large", word(math.MaxUint32 + 1), new(ended)},
		{"a text longer than the message", word(math.MaxInt64), new(Report)},
		{"a negative length", word(math.MaxUint64), new(Report)},
		{"a flag that is neither 0 nor 1", append(word(0), word(2)...), new(Report)},
		{"a list longer than the message", bytes.Join([][]byte{word(0), word(1 << 40)}, nil), new(supplied)},
		{"an empty message", nil, new(Report)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if decode(c.data, c.into) {
				t.Errorf("read as %+v", c.into)
			}
		})
	}
}

// FuzzDecodePlan: bytes are either rejected, or are exactly the encoding of the decoded plan.
func FuzzDecodePlan(tf *testing.F) {
	f := variants.Of(tf)
	f.Add(full().Encode())
	f.Add(new(Plan).Encode())
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := DecodePlan(data); ok && !bytes.Equal(p.Encode(), data) {
			t.Errorf("%x is written as %x", data, p.Encode())
		}
	})
}

// FuzzDecodeReport: the same holds for reports.
func FuzzDecodeReport(tf *testing.F) {
	f := variants.Of(tf)
	r := Report{Sockets: "ports", Runs: true, Notes: []string{"a"}}
	f.Add(r.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, ok := DecodeReport(data); ok && !bytes.Equal(r.Encode(), data) {
			t.Errorf("%x is written as %x", data, r.Encode())
		}
	})
}

func TestDecimal(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 7: "7", 10: "10", math.MaxUint64: "18446744073709551615"} {
		if got := decimal(n); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

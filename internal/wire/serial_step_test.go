package wire

import (
	"strings"
	"testing"
)

func TestSerialOutOfStep(t *testing.T) {
	t.Run("a second reply to one call does not answer the next", func(t *testing.T) {
		s, f, heard := newSerial(t, Options{})
		f.play(`{"id":1,"result":1}`+"\n"+`{"id":1,"result":"again"}`+"\n", `{"id":2,"result":2}`+"\n")
		mustCall(t, s, "1")
		mustCall(t, s, "2")
		heard.wait(t, "stale reply")
	})
	t.Run("a second reply that comes between two calls does not answer the next", func(t *testing.T) {
		s, f, heard := newSerial(t, Options{})
		f.play(`{"id":1,"result":1}`+"\n", `{"id":2,"result":2}`+"\n")
		mustCall(t, s, "1")
		f.write("debug\n" + `{"id":1,"result":"again"}` + "\n" + `{"method":"x"}` + "\n")
		mustCall(t, s, "2")
		heard.wait(t, "garbage, stale reply, unasked")
	})
	t.Run("a reply with a hard-coded id is accepted each time", func(t *testing.T) {
		s, f, heard := newSerial(t, Options{})
		f.play(`{"id":1,"result":1}`+"\n", `{"id":1,"result":2}`+"\n", `{"id":1,"result":3}`+"\n")
		mustCall(t, s, "1")
		mustCall(t, s, "2")
		mustCall(t, s, "3")
		heard.wait(t, "wrong id, wrong id")
	})
	t.Run("a reply to a call that timed out is discarded during the next", func(t *testing.T) {
		s, f, heard := newSerial(t, Options{})
		timeOut(t, s)
		f.read()
		f.play(`{"id":1,"result":"late"}` + "\n" + `{"id":2,"result":2}` + "\n")
		mustCall(t, s, "2")
		heard.wait(t, "late reply")
	})
	t.Run("a reply to a call that timed out is discarded before the next", func(t *testing.T) {
		s, f, heard := newSerial(t, Options{})
		timeOut(t, s)
		f.read()
		f.write(`{"id":1,"result":"late"}` + "\n")
		f.play(`{"id":2,"result":2}` + "\n")
		mustCall(t, s, "2")
		heard.wait(t, "late reply")
	})
	t.Run("half a line before the call is kept", func(t *testing.T) {
		s, f, heard := newSerial(t, Options{})
		f.write(`{"id":1,"res`)
		f.play(`ult":1}` + "\n")
		mustCall(t, s, "1")
		heard.wait(t, "")
	})
	t.Run("the call is sent in spite of a flood before it", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		s.src = flood{s}
		f.play(`{"id":1,"result":1}` + "\n")
		mustCall(t, s, "1")
	})
}

// flood is a source that always has more to read, until the request is sent.
type flood struct{ s *Serial }

func (f flood) Read(p []byte) (int, error) {
	if f.s.unsent {
		return copy(p, strings.Repeat("noise\n", 100)), nil
	}
	return f.s.r.Read(p)
}

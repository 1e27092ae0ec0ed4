package blocks

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestFormatIsOfThisServer fails if another version of nats-server is linked than the one for which
// this package was written.
func TestFormatIsOfThisServer(t *testing.T) {
	if server.VERSION == ServerVersion {
		return
	}
	t.Errorf(`nats-server is %s, and this package reads the files of %s. Before you change ServerVersion, compare in
server/filestore.go of both versions:
- writeMsgRecordLocked: the fields of a record, and what is hashed
- hashKeyForBlock, and the key of index.db in _writeFullState
- hbit, ebit, tbit, rlBadThresh, msgHdrSize
- encodeConsumerState, checkConsumerHeader: the fields of o.dat; a test of internal/engine writes real ones
- recoverFullState: the fields of index.db, and fullStateVersion
- rebuildStateFromBufLocked: what it cuts off; newFileStoreWithCreatedAndMode: the record that holds the last sequence
- indexCacheBuf and fs.warn: the texts of the warnings that internal/engine/damage.go listens for
Then run the tests of internal/engine.`, server.VERSION, ServerVersion)
}

// TestFormatOfRealBlocks lets the real server write every kind of record, and reads its files.
func TestFormatOfRealBlocks(t *testing.T) {
	dir := t.TempDir()
	const name = "patchbay_stream_golden"
	srv, js := startNATS(t, dir)
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{"golden.>"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		msg := nats.NewMsg(fmt.Sprintf("golden.%d", i))
		msg.Data = []byte(strings.Repeat("x", i*100))
		if i%2 == 0 { // every other message has a header
			msg.Header.Set("Nats-Msg-Id", fmt.Sprint(i))
		}
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteMsg(t.Context(), 4); err != nil { // leaves a mark
		t.Fatal(err)
	}
	if err := s.SecureDeleteMsg(t.Context(), 7); err != nil { // overwrites the record
		t.Fatal(err)
	}
	srv.Shutdown()
	srv.WaitForShutdown()

	all, err := places(dir)
	if err != nil || len(all) != 1 || all[0].name != name {
		t.Fatalf("streams: %+v, %v", all, err)
	}
	read, err := all[0].read(nil)
	if err != nil {
		t.Fatal(err)
	}
	if read.index == nil || read.index.first != 1 || read.index.last != 10 || read.index.blocks[1].live() != 8 || !read.unlimited() {
		t.Errorf("index: %+v, unlimited %t", read.index, read.unlimited())
	}
	got := map[kind]int{}
	for _, r := range read.blocks[0].records {
		got[r.kind]++
		if age := time.Since(time.Unix(0, r.time)); r.kind == message && (age < 0 || age > time.Minute) {
			t.Errorf("record %d is from %s ago", r.sequence, age)
		}
	}
	if got[message] != 9 || got[deleted] != 1 || got[mark] == 0 || len(read.blocks[0].damage) != 0 {
		t.Errorf("records by kind: %v, damage %v", got, read.blocks[0].damage)
	}
	if n := newCount(read).whole(&read.blocks[0]); n != 8 {
		t.Errorf("%d messages, want 8: two of ten are deleted", n)
	}
	if found := read.findings(); len(found) != 0 {
		t.Errorf("a store without faults: %v", found)
	}
}

// TestMarkHoldsTheLastNumber lets the real server open a block that this package wrote.
func TestMarkHoldsTheLastNumber(t *testing.T) {
	dir := t.TempDir()
	srv, js := startNATS(t, dir)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	srv.Shutdown()
	srv.WaitForShutdown()
	p := place{"s", dir + "/jetstream/$G/streams/s"}
	if err := os.Remove(p.index()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.block(9), appendMark(nil, 41, time.Now().UnixNano(), newHash("s", 9)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, js = startNATS(t, dir)
	ack, err := js.Publish(t.Context(), "s", nil)
	if err != nil || ack.Sequence != 42 {
		t.Errorf("the next message got %+v, %v; want 42", ack, err)
	}
}

func startNATS(t *testing.T, dir string) (*server.Server, jetstream.JetStream) {
	t.Helper()
	srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir, SyncAlways: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the server did not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return srv, js
}

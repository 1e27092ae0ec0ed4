package blocks

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestCopyOfAStreamThatIsBeingMade copies a stream while the server creates it: meta.inf comes
// first, and meta.sum a moment later.
func TestCopyOfAStreamThatIsBeingMade(t *testing.T) {
	dir := t.TempDir()
	stream := filepath.Join(dir, "jetstream", "$G", "streams", "s")
	if err := os.MkdirAll(filepath.Join(stream, messages), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stream, "meta.inf"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := keyed(sha256.Sum256([]byte("s")))
	h.Write([]byte("{}"))
	written := make(chan error, 1)
	time.AfterFunc(20*time.Millisecond, func() {
		written <- os.WriteFile(filepath.Join(stream, "meta.sum"), []byte(hex.EncodeToString(h.Sum(nil))), 0o600)
	})
	var got []string
	err := Copy(dir, func(stream, file string, _ []byte) error { got = append(got, stream+"/"+file); return nil })
	if want := []string{"s/meta.inf", "s/meta.sum"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func made(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, time.Unix(1_800_000_000, 0))
	for _, f := range []struct{ name, data string }{{"meta.inf", "{}"}, {"meta.sum", "12"}, {"obs/workers/o.dat", "x"}} {
		if err := w.Add("patchbay_stream_s", f.name, []byte(f.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ignore(string, string, []byte) error { return nil }

// TestArchive: the files that were written are read back.
func TestArchive(t *testing.T) {
	var got []string
	s, err := Read(bytes.NewReader(made(t)), func(stream, name string, data []byte) error {
		got = append(got, stream+" "+name+" "+string(data))
		return nil
	})
	if err != nil || s.Streams != 1 || s.Bytes != 5 {
		t.Fatalf("%+v, %v", s, err)
	}
	if want := "patchbay_stream_s meta.inf {}|patchbay_stream_s meta.sum 12|patchbay_stream_s obs/workers/o.dat x"; strings.Join(got, "|") != want {
		t.Errorf("read %q", got)
	}
}

// TestDamagedArchive changes and removes bytes. No changed archive is accepted.
func TestDamagedArchive(t *testing.T) {
	whole := made(t)
	for i := range whole {
		if i >= 4 && i < 10 {
			continue // the time and system of the gzip header, which have no meaning
		}
		harmed := bytes.Clone(whole)
		harmed[i] ^= 0xff
		if _, err := Read(bytes.NewReader(harmed), ignore); err == nil {
			t.Errorf("byte %d was changed, and Read returned no error", i)
		}
		if _, err := Read(bytes.NewReader(whole[:i]), ignore); err == nil {
			t.Errorf("the file ends after %d bytes, and Read returned no error", i)
		}
	}
}

// hostile returns an archive with one entry.
func hostile(t *testing.T, h tar.Header, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	h.Size = int64(len(data))
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHostileArchive(t *testing.T) {
	for rule, h := range map[string]tar.Header{
		"a path out of the directory":  {Name: "streams/s/../../../evil"},
		"an absolute path":             {Name: "/etc/passwd"},
		"a name of a stream with dots": {Name: "streams/../meta.inf"},
		"a file that no store has":     {Name: "streams/s/msgs/index.db"},
		"a symbolic link":              {Name: "streams/s/meta.inf", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"a directory":                  {Name: "streams/s/msgs/", Typeflag: tar.TypeDir},
		"a block without records":      {Name: "streams/s/msgs/1.blk"},
		"a number that no block has":   {Name: "streams/s/msgs/9999999999.blk"},
	} {
		t.Run(rule, func(t *testing.T) {
			data := "not a block"
			if h.Typeflag != 0 {
				data = ""
			}
			called := false
			_, err := Read(bytes.NewReader(hostile(t, h, data)), func(string, string, []byte) error {
				called = true
				return nil
			})
			if err == nil || called {
				t.Errorf("it was accepted: %v", err)
			}
		})
	}
}

// FuzzRead checks that every accepted archive contains the same files when it is written again.
func FuzzRead(tf *testing.F) {
	f := variants.Few(tf)
	f.Add(made(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		var again bytes.Buffer
		w := NewWriter(&again, time.Unix(0, 0))
		s, err := Read(bytes.NewReader(data), w.Add)
		if err != nil {
			return
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if s2, err := Read(&again, ignore); err != nil || s2.Bytes != s.Bytes || s2.Records != s.Records {
			t.Fatalf("written again: %+v, %v; was %+v", s2, err, s)
		}
	})
}

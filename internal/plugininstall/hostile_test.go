package plugininstall

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// item is an entry of an archive.
type item struct {
	name, text string
	link       string
	kind       byte
	mode       int64
}

func tarOf(t *testing.T, items ...item) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Size: int64(len(i.text)), Mode: i.mode, Typeflag: i.kind, Linkname: i.link}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, i.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return archiveFile(t, "x.tar.gz", b.Bytes())
}

func zipOf(t *testing.T, items ...item) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, i := range items {
		h := &zip.FileHeader{Name: i.name, Method: zip.Deflate}
		text := i.text
		switch i.kind {
		case tar.TypeSymlink:
			h.SetMode(os.ModeSymlink | 0o777)
			text = i.link
		case tar.TypeFifo:
			h.SetMode(os.ModeNamedPipe | 0o644)
		default:
			h.SetMode(os.FileMode(i.mode & 0o777))
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archiveFile(t, "x.zip", b.Bytes())
}

func archiveFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

var plugin = []item{{name: "notes/manifest.yaml", text: kagedManifest}, {name: "notes/notes.sh", text: script, mode: 0o755}}

// TestArchives: tar, tar.gz and zip are unpacked alike; of modes only the right to execute is kept.
func TestArchives(t *testing.T) {
	setuid := append([]item{{name: "./", kind: tar.TypeDir, mode: 0o755}, {name: "notes/", kind: tar.TypeDir, mode: 0o777}}, plugin[0],
		item{name: "notes/notes.sh", text: script, mode: 0o6777}, item{name: "notes/link", kind: tar.TypeSymlink, link: "notes.sh"})
	for name, path := range map[string]string{"tar.gz": tarOf(t, setuid...), "zip": zipOf(t, plugin...)} {
		t.Run(name, func(t *testing.T) {
			h := newTestHome(t)
			if _, err := h.install(path, PlaceOptions{}); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(h.home, ".local/share/kaged/plugins/notes/notes.sh"))
			if err != nil || info.Mode() != 0o755 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		})
	}
}

// TestHostileArchives: nothing of them is installed, nothing is written outside, and nothing is
// left behind.
func TestHostileArchives(t *testing.T) {
	deep := item{name: strings.Repeat("d/", mostDepth+1) + "f"}
	cases := map[string][]item{
		"out of the directory":        {{name: "../evil", text: "x"}},
		"out of an inner directory":   {{name: "notes/../../evil", text: "x"}},
		"an absolute name":            {{name: "/tmp/pb-evil", text: "x"}},
		"a drive":                     {{name: "C:/evil", text: "x"}},
		"backslashes":                 {{name: `..\evil`, text: "x"}},
		"a control character":         {{name: "no\x1btes", text: "x"}},
		"a C1 control character":      {{name: "no\u009btes", text: "x"}},
		"a name with reversed text":   {{name: "notes/abc\u202egnp.sh", text: "x"}},
		"a link out":                  {{name: "notes/link", kind: tar.TypeSymlink, link: "../../../evil"}},
		"a link to an absolute place": {{name: "link", kind: tar.TypeSymlink, link: "/etc/passwd"}},
		"a file through a link":       {{name: "notes/dir", kind: tar.TypeSymlink, link: "."}, {name: "notes/dir/evil", text: "x"}},
		"links that lead out together": {{name: "a/b/c", text: "x"}, {name: "up", kind: tar.TypeSymlink, link: "a/b"}, {name: "evil", kind: tar.TypeSymlink, link: "up/../../.."},
			{name: "evil2", kind: tar.TypeSymlink, link: "up/../../../x"}},
		"a named pipe":              {{name: "pipe", kind: tar.TypeFifo}},
		"names that differ in case": {{name: "notes/A", text: "x"}, {name: "notes/a", text: "y"}},
		"a directory in other case": {{name: "Notes/x", text: "x"}},
		"a file that is a dir too":  {{name: "notes/notes.sh/x", text: "x"}},
		"a file twice":              {{name: "notes/manifest.yaml", text: "x"}},
		"a name too deep":           {deep},
		"a name that ends in a dot": {{name: "evil./x", text: "x"}},
	}
	tarOnly := map[string][]item{
		"a hard link":         {{name: "hard", kind: tar.TypeLink, link: "/etc/passwd"}},
		"a device":            {{name: "null", kind: tar.TypeChar}},
		"a block":             {{name: "disk", kind: tar.TypeBlock}},
		"a huge ratio":        {{name: "zero", text: strings.Repeat("\x00", ratioAfter+ratioAfter/2)}},
		"a name not in UTF-8": {{name: "\xff\xfe", text: "x"}},
	}
	for name, items := range cases {
		t.Run(name, func(t *testing.T) {
			refused(t, tarOf(t, append(append([]item{}, plugin...), items...)...))
			refused(t, zipOf(t, append(append([]item{}, plugin...), items...)...))
		})
	}
	for name, items := range tarOnly {
		t.Run(name, func(t *testing.T) { refused(t, tarOf(t, append(append([]item{}, plugin...), items...)...)) })
	}
	t.Run("cut short", func(t *testing.T) {
		data, err := os.ReadFile(tarOf(t, append(plugin, item{name: "long", text: strings.Repeat("abc", 10000)})...))
		if err != nil {
			t.Fatal(err)
		}
		short := archiveFile(t, "x.tar.gz", data[:len(data)/2])
		refused(t, short)
		_, err = newTestHome(t).install(short, PlaceOptions{})
		if e, ok := errors.AsType[*SourceError](err); !ok || !strings.Contains(e.Fix(), "incomplete") {
			t.Errorf("an archive that was cut short says %v", err)
		}
		refused(t, archiveFile(t, "x.zip", []byte("PK\x03\x04abc")))
	})
	t.Run("another checksum, or none", func(t *testing.T) { // gzip has it behind the end of the tar
		data, err := os.ReadFile(tarOf(t, plugin...))
		if err != nil {
			t.Fatal(err)
		}
		checksum := len(data) - 8
		refusedFor(t, archiveFile(t, "x.tar.gz", data[:checksum]), "EOF")
		data[checksum] ^= 1
		refusedFor(t, archiveFile(t, "x.tar.gz", data), "checksum")
	})
	t.Run("other bytes behind the end are ignored", func(t *testing.T) {
		data, err := os.ReadFile(tarOf(t, plugin...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newTestHome(t).install(archiveFile(t, "x.tar.gz", append(data, "a signature, and more than ten bytes"...)), PlaceOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a hole that is larger than the archive", func(t *testing.T) { refused(t, sparseTar(t)) })
	t.Run("a list that is longer than it says", func(t *testing.T) { refusedFor(t, lyingZip(t), "too many files") })
	t.Run("a list that is too long", func(t *testing.T) {
		end := append([]byte("PK\x03\x04PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff"), 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0)
		refused(t, archiveFile(t, "x.zip", end))
	})
}

// sparseTar returns a tar without compression, with a file that is one hole.
func sparseTar(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, i := range plugin {
		if err := w.WriteHeader(&tar.Header{Name: i.name, Size: int64(len(i.text)), Mode: 0o755, Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, i.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	records := ""
	for _, r := range [][2]string{{"major", "1"}, {"minor", "0"}, {"name", "notes/hole"}, {"realsize", fmt.Sprint(2 * ratioAfter)}} {
		text := " GNU.sparse." + r[0] + "=" + r[1] + "\n"
		records += fmt.Sprint(len(text)+2) + text
	}
	for _, block := range []struct {
		kind byte
		text string
	}{{tar.TypeXHeader, records}, {tar.TypeReg, "1\n0\n0\n" + strings.Repeat("\x00", 506)}} {
		b.Write(rawHeader(block.kind, len(block.text)))
		b.WriteString(block.text + strings.Repeat("\x00", (512-len(block.text)%512)%512))
	}
	b.Write(make([]byte, 1024))
	return archiveFile(t, "x.tar", b.Bytes())
}

// rawHeader returns a block of a tar that archive/tar would not write.
func rawHeader(kind byte, size int) []byte {
	h := make([]byte, 512)
	copy(h, "notes/hole")
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	copy(h[124:], fmt.Sprintf("%011o\x0000000000000\x00        ", size))
	h[156] = kind
	copy(h[257:], "ustar\x0000")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return h
}

// lyingZip returns an archive that states a list of 47 bytes, and has a longer one.
func lyingZip(t *testing.T) string {
	t.Helper()
	one := []byte("PK\x01\x02" + strings.Repeat("\x00", 24) + "\x01" + strings.Repeat("\x00", 17) + "a")
	n := mostDirectory/len(one) + 1
	data := append([]byte("PK\x03\x04"+strings.Repeat("\x00", 22)+"\x01\x00\x00\x00a"), bytes.Repeat(one, n)...)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(len(one)))
	binary.LittleEndian.PutUint32(end[16:], 31)
	return archiveFile(t, "x.zip", append(data, end...))
}

// refusedFor installs an archive that must be refused for that reason.
func refusedFor(t *testing.T, path, why string) {
	t.Helper()
	if _, err := newTestHome(t).install(path, PlaceOptions{}); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v, want %q", err, why)
	}
}

// TestTooManyFiles: files and directories are counted together.
func TestTooManyFiles(t *testing.T) {
	s, err := newSink(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.most = 10
	for i := 0; err == nil && i < 6; i++ {
		err = s.file(fmt.Sprintf("d%d/f", i), 0, strings.NewReader(""))
	}
	if _, ok := errors.AsType[*HostileError](err); !ok || s.files != 11 {
		t.Errorf("%d files, %v", s.files, err)
	}
}

// refused installs an archive that must be refused.
func refused(t *testing.T, path string) {
	t.Helper()
	h := newTestHome(t)
	placed, err := h.install(path, PlaceOptions{})
	if err == nil {
		t.Errorf("%s is installed: %+v", filepath.Base(path), placed)
	}
	h.wants()
	for _, p := range []string{filepath.Dir(h.home) + "/evil", "/tmp/pb-evil"} {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s was written", p)
		}
	}
}

// TestHostileDirectory: links and pipes in a directory are treated as in an archive.
func TestHostileDirectory(t *testing.T) {
	for name, plant := range map[string]func(dir string) error{
		"a link out": func(dir string) error { return os.Symlink("/etc/passwd", dir+"/link") },
		"a pipe":     func(dir string) error { return makeFIFO(dir + "/pipe") },
	} {
		t.Run(name, func(t *testing.T) {
			h, source := newTestHome(t), t.TempDir()
			write(t, source, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script})
			if err := plant(source); errors.Is(err, errors.ErrUnsupported) {
				t.Skip("not here: ", err)
			} else if err != nil {
				t.Fatal(err)
			}
			if _, err := h.install(source, PlaceOptions{}); err == nil {
				t.Error("a hostile directory was installed")
			}
			h.wants()
		})
	}
}

// TestWebArchive: only https, limited, and redirects must stay on https.
func TestWebArchive(t *testing.T) {
	archive := zipOf(t, plugin...)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good.zip":
			http.ServeFile(w, r, archive)
		case "/moved.zip":
			http.Redirect(w, r, server.URL+"/good.zip", http.StatusFound)
		case "/plain.zip":
			http.Redirect(w, r, plain.URL+"/good.zip", http.StatusFound)
		case "/circle.zip":
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	for path, ok := range map[string]bool{"/good.zip": true, "/moved.zip": true, "/plain.zip": false, "/circle.zip": false, "/none.zip": false} {
		h := newTestHome(t)
		h.o.tls = &tls.Config{RootCAs: roots}
		if _, err := h.install(server.URL+path, PlaceOptions{}); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	h := newTestHome(t)
	if _, err := h.install(server.URL+"/good.zip", PlaceOptions{}); err == nil {
		t.Error("an unsigned certificate is accepted")
	}
}

// TestTokenInAnAddress: the part of an archive's address after the ? is sent to its server, and
// appears nowhere else: not in the lock, not in a message.
func TestTokenInAnAddress(t *testing.T) {
	archive := zipOf(t, plugin...)
	var asked []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		switch {
		case r.URL.Path == "/gone.zip":
			http.Redirect(w, r, "https://127.0.0.1:1/x.zip?token=hunter2", http.StatusFound)
		case r.URL.Query().Get("token") != "hunter2":
			http.Error(w, "no", http.StatusForbidden)
		default:
			http.ServeFile(w, r, archive)
		}
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	h := newTestHome(t)
	var said strings.Builder
	h.o.tls, h.o.Progress = &tls.Config{RootCAs: roots}, func(text string) { said.WriteString(text + "\n") }
	placed, err := h.install(server.URL+"/good.zip?token=hunter2", PlaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/bad.zip?token=hunter22", "/gone.zip?token=hunter2"} {
		_, err := h.install(server.URL+path, PlaceOptions{})
		fmt.Fprintln(&said, err)
		if err == nil {
			t.Errorf("%s is installed", path)
		}
	}
	lock, err := os.ReadFile(h.o.Dirs.LockFile)
	fmt.Fprintf(&said, "%+v\n%s", *placed[0], lock)
	if err != nil || strings.Contains(said.String(), "hunter2") || !slices.Contains(asked, "token=hunter2") {
		t.Errorf("%v, the server was asked %q:\n%s", err, asked, said.String())
	}
	if notes := strings.Join(placed[0].Notes, "\n"); !strings.Contains(notes, "after the ?") {
		t.Errorf("%q", notes)
	}
}

// FuzzArchive: whatever an archive contains, nothing is written outside of the directory.
func FuzzArchive(tf *testing.F) {
	f := variants.Few(tf)
	f.Add("a/../b", "../x", byte(tar.TypeSymlink))
	f.Add("a", "b", byte(tar.TypeReg))
	f.Fuzz(func(t *testing.T, name, link string, kind byte) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, n := range []string{"dir/x", name, name + "/y"} {
			if w.WriteHeader(&tar.Header{Name: n, Typeflag: kind, Linkname: link, Mode: 0o644}) != nil {
				return
			}
			kind = tar.TypeReg
		}
		_ = w.Close() // the part that was written is enough
		outer := t.TempDir()
		inner := filepath.Join(outer, "in")
		if err := os.Mkdir(inner, 0o755); err != nil {
			t.Fatal(err)
		}
		s, err := newSink(inner)
		if err != nil {
			t.Fatal(err)
		}
		_ = errors.Join(unpackTar(context.Background(), s, bytes.NewReader(b.Bytes())), s.close()) // it may refuse
		if entries, err := os.ReadDir(outer); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

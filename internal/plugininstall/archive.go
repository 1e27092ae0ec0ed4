package plugininstall

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// A form is the format of an archive.
type form int

const (
	noArchive form = iota
	gzipTar
	plainTar
	zipFile
)

// formOf returns the format of an archive, from its first bytes.
func formOf(r io.ReaderAt) form {
	head := make([]byte, 512)
	n, _ := r.ReadAt(head, 0) // a short file is not an archive
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return gzipTar
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return zipFile
	case n >= 262 && string(head[257:262]) == "ustar":
		return plainTar
	}
	return noArchive
}

func isArchive(path string) bool {
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return formOf(f) != noArchive
}

// unpack writes the content of an archive into a directory.
func unpack(ctx context.Context, s *sink, path string) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > mostFetched {
		return fmt.Errorf("%s has more than %d MiB", path, mostFetched>>20)
	}
	switch formOf(f) {
	case gzipTar:
		return unpackGzip(ctx, s, f)
	case plainTar:
		// Even an uncompressed tar can unpack to more than its size: its files may have holes.
		count := &counted{r: f}
		s.read = func() int64 { return count.n }
		return unpackTar(ctx, s, count)
	case zipFile:
		return unpackZip(ctx, s, f, info.Size())
	}
	return badSource("tar, tar.gz and zip are supported", "%s is not an archive that can be read", path)
}

// counted counts the bytes that are read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func unpackGzip(ctx context.Context, s *sink, f *os.File) error {
	count := &counted{r: f}
	z, err := gzip.NewReader(count)
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	s.read = func() int64 { return count.n }
	// The bytes between the files of a tar are read too, and are also limited.
	unzipped := io.LimitReader(z, 2*mostBytes)
	if err := unpackTar(ctx, s, unzipped); err != nil {
		return err
	}
	// The checksum is behind the end of the tar. Other bytes may follow it, which gzip calls an
	// invalid header.
	if _, err := io.Copy(io.Discard, unzipped); !errors.Is(err, gzip.ErrHeader) {
		return damaged(err)
	}
	return nil
}

func unpackTar(ctx context.Context, s *sink, r io.Reader) error {
	archive := tar.NewReader(r)
	for entries := 0; ; entries++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		if entries > 2*mostFiles {
			return hostile(h.Name, "the archive has too many entries")
		}
		if err := s.tarEntry(h, archive); err != nil {
			return damaged(err)
		}
	}
}

func (s *sink) tarEntry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader { // a comment, such as git's
		return nil
	}
	name, ok, err := clean(h.Name)
	if err != nil || !ok {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return s.dir(name)
	case tar.TypeReg:
		return s.file(name, h.FileInfo().Mode(), content)
	case tar.TypeSymlink:
		return s.link(name, h.Linkname)
	case tar.TypeLink:
		return hostile(name, "it is a hard link")
	}
	return hostile(name, "it is neither a file, a directory nor a link")
}

// unpackZip first reads the list at the end of the archive, which has its own limit.
func unpackZip(ctx context.Context, s *sink, f *os.File, size int64) error {
	list := &meteredList{r: f, left: mostDirectory}
	archive, err := zip.NewReader(list, size)
	list.read = true
	if errors.Is(err, errLongList) {
		return err
	}
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	if len(archive.File) > 2*mostFiles {
		return hostile(f.Name(), "the archive has too many entries")
	}
	read := int64(1)
	s.read = func() int64 { return read }
	for _, entry := range archive.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		read += int64(min(entry.CompressedSize64, uint64(size)))
		if err := s.zipEntry(entry); err != nil {
			return damaged(err)
		}
	}
	return nil
}

// damaged returns an error about the archive if an entry cannot be decompressed or ends too early.
// It returns other errors unchanged.
func damaged(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zip.ErrChecksum) {
		return badSource("get the archive again: it is damaged or incomplete", "%v; nothing was installed", err)
	}
	return err
}

// mostDirectory limits the list at the end of a zip archive, which is read into memory as a whole.
const mostDirectory = 16 << 20

var errLongList = errors.New("the archive lists too many files")

// A meteredList limits how much of an archive is read before its list is known. What the archive
// states about the length of the list may be wrong.
type meteredList struct {
	r    io.ReaderAt
	left int64
	read bool // the list is known: the sink limits the rest
}

func (l *meteredList) ReadAt(p []byte, off int64) (int, error) {
	if !l.read {
		if l.left -= int64(len(p)); l.left < 0 {
			return 0, errLongList
		}
	}
	return l.r.ReadAt(p, off)
}

func (s *sink) zipEntry(entry *zip.File) (err error) {
	name, ok, err := clean(entry.Name)
	if err != nil || !ok {
		return err
	}
	mode := entry.Mode()
	if mode.IsDir() {
		return s.dir(name)
	}
	if !mode.IsRegular() && mode&fs.ModeSymlink == 0 {
		return hostile(name, "it is neither a file, a directory nor a link")
	}
	content, err := entry.Open()
	if err != nil {
		return fmt.Errorf("the archive is damaged: %w", err)
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if mode&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(io.LimitReader(content, mostName+1))
		if err != nil {
			return fmt.Errorf("the archive is damaged: %w", err)
		}
		return s.link(name, string(target))
	}
	return s.file(name, mode, content)
}

package storage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/rawjson"
)

// Bounds of what a plugin may store.
const (
	MaxKey   = 512     // bytes: longer than any path, short enough to list by the thousand
	MaxValue = 4 << 20 // bytes: seed 002, "Max message size: 4 MB", so nothing larger can arrive
)

// What a plugin can do wrong. Other errors are the disk's.
var (
	ErrKey   = errors.New("not a storage key")
	ErrValue = errors.New("not a storable value")
)

// Store is a directory of plugins' directories.
type Store struct {
	dir string
}

// Open names the directory. It does no I/O: the directory is made by the first Put.
func Open(dir string) *Store { return &Store{dir: dir} }

// Plugin is the namespace of one plugin. Names are told apart to the letter, also where the file system does not.
func (s *Store) Plugin(name string) Bucket {
	return Bucket{dir: filepath.Join(s.dir, dirName(name)), swept: new(sync.Once)}
}

// Bucket is one plugin's keys and values. All methods are safe for concurrent use, within a process and between several.
type Bucket struct {
	dir   string
	swept *sync.Once // leftovers of killed writers are removed once, before the first Put
}

// Get is the value of a key; false where there is none.
func (b Bucket) Get(ctx context.Context, key string) (json.RawMessage, bool, error) {
	if err := cmp.Or(ctx.Err(), checkKey(key)); err != nil {
		return nil, false, err
	}
	name := b.file(key)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("storage: %w", err)
	}
	defer f.Close()
	value, err := readFile(f, key)
	if err != nil {
		return nil, false, fmt.Errorf("storage: %s: %w", name, err)
	}
	return value, true, nil
}

// Put stores a value. When it returns nil, the value is on disk.
func (b Bucket) Put(ctx context.Context, key string, value json.RawMessage) error {
	if err := cmp.Or(ctx.Err(), checkKey(key), checkValue(value)); err != nil {
		return err
	}
	b.swept.Do(func() { sweep(b.dir) })
	content := rawjson.AppendString(make([]byte, 0, len(key)+len(value)+16), key)
	content = append(content, '\n')
	content = append(content, value...)
	if err := replace(b.file(key), content); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}

// Delete removes a key. That there is none is not an error.
func (b Bucket) Delete(ctx context.Context, key string) error {
	if err := cmp.Or(ctx.Err(), checkKey(key)); err != nil {
		return err
	}
	err := os.Remove(b.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := cmp.Or(err, syncDir(b.dir)); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}

// List is the keys that start with prefix, sorted.
func (b Bucket) List(ctx context.Context, prefix string) ([]string, error) {
	entries, err := os.ReadDir(b.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("storage: %w", err)
	}
	keys := make([]string, 0, len(entries))
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		key, ok, err := b.keyOf(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("storage: %w", err)
		}
		if ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// keyOf is the key that a file holds; false where the file is not ours, or gone since it was listed.
func (b Bucket) keyOf(name string) (key string, ok bool, err error) {
	if key, ok := keyFromName(name); ok {
		return key, true, nil
	}
	if !isHashed(name) {
		return "", false, nil
	}
	f, err := os.Open(filepath.Join(b.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, maxHead))
	if err != nil {
		return "", false, err
	}
	key, _, err = split(head)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return key, true, nil
}

func (b Bucket) file(key string) string { return filepath.Join(b.dir, keyName(key)) }

// maxHead is the longest first line: a key of nothing but control characters, six bytes each, with its quotes and newline.
const maxHead = 6*MaxKey + 3

// readFile is the value in a file, which must be that of key.
func readFile(r io.Reader, key string) (json.RawMessage, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxHead+MaxValue+1))
	if err != nil {
		return nil, err
	}
	got, value, err := split(content)
	switch {
	case err != nil:
		return nil, err
	case got != key:
		return nil, fmt.Errorf("holds the key %.80q, not %.80q; remove the file", got, key)
	}
	if err := checkValue(value); err != nil {
		return nil, fmt.Errorf("%w; remove the file", err)
	}
	return value, nil
}

// split parts a file's first line, the key, from the rest.
func split(content []byte) (key string, value json.RawMessage, err error) {
	head, value, ok := bytes.Cut(content, []byte{'\n'})
	if !ok {
		return "", nil, errors.New("has no first line with a key; remove the file")
	}
	key, ok = rawjson.Unquote(head)
	if !ok {
		return "", nil, errors.New("the first line is not a key; remove the file")
	}
	return key, value, nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrKey, len(key), MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: %.80q is not UTF-8", ErrKey, key)
	}
	return nil
}

func checkValue(value json.RawMessage) error {
	if len(value) > MaxValue {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrValue, len(value), MaxValue)
	}
	if err := rawjson.Check(value); err != nil {
		return fmt.Errorf("%w: %w", ErrValue, err)
	}
	return nil
}

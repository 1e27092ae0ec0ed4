package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Both files are written by hand: a hundred plugins take some 20 KiB and a thousand keys. The library takes time
// with the square of the keys in a table, 47 s for a mebibyte of them, which is why they are counted first.
const (
	maxSize = 1 << 20
	maxKeys = 10_000
)

// Load reads and checks the config at path. A missing file is an empty config. What is wrong with the
// file comes back as one [*Error] with every problem in it.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		c := Default()
		c.file = path
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	defer f.Close()
	data, err := readCapped(f, path)
	if err != nil {
		return nil, err
	}
	return parseConfig(path, data)
}

func parseConfig(path string, data []byte) (*Config, error) {
	top, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	c := readConfig(top)
	if err := asError(top.problems); err != nil {
		return nil, err
	}
	c.file, c.doc = path, top.doc
	return c, nil
}

// parse turns a file into its top table. Only one syntax error can be reported: after it nothing is certain.
func parse(path string, data []byte) (*table, error) {
	data = clip(data)
	root, keys := locate(data)
	if keys > maxKeys {
		return nil, wrongFile(path, "more than %d keys", maxKeys)
	}
	values := make(map[string]any)
	if err := toml.Unmarshal(data, &values); err != nil {
		return nil, syntaxError(path, err)
	}
	doc := &document{values: values, root: root, lines: lineStarts(data)}
	return &table{
		reading: &reading{file: path, doc: doc},
		values:  doc.values, at: doc.root,
	}, nil
}

// clip drops a byte order mark, which some editors put first. The capacity goes too: the TOML library finds positions by
// comparing capacities.
func clip(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return data[:len(data):len(data)]
}

func syntaxError(path string, err error) error {
	p := Problem{File: path, Message: strings.TrimPrefix(err.Error(), "toml: ")}
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		p.Line, p.Column = decode.Position()
		p.Key = strings.Join(decode.Key(), ".")
	}
	return &Error{Problems: []Problem{p}}
}

// readCapped reads all of r, and says so where it is more than a config ever is.
func readCapped(r io.Reader, path string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(data) > maxSize {
		return nil, wrongFile(path, "larger than %d KiB", maxSize>>10)
	}
	return data, nil
}

func wrongFile(path, format string, args ...any) error {
	return &Error{Problems: []Problem{{File: path, Message: fmt.Sprintf(format, args...), Fix: "is it the right file?"}}}
}

package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// MaxSize and MaxKeys limit a file. People write such files by hand: a hundred plugins take some 20
// KiB and a thousand keys. The library's time grows with the square of the keys in a table, 47 s
// for a mebibyte of them, so the keys are counted first.
const (
	MaxSize = 1 << 20
	MaxKeys = 10_000
)

// TOML parses a file and returns its top table. It reports at most one syntax error, since nothing
// after it is certain.
func TOML(path string, data []byte) (*Table, error) {
	data = slices.Clip(bytes.TrimPrefix(data, []byte("\ufeff"))) // the library finds positions by comparing capacities
	root, keys := locate(data)
	if keys > MaxKeys {
		return nil, wrongFile(path, "more than %d keys", MaxKeys)
	}
	values := make(map[string]any)
	if err := toml.Unmarshal(data, &values); err != nil {
		return nil, syntaxError(path, err)
	}
	r := &reading{file: path, format: tomlFormat}
	r.root = root.with(values, lineStarts(data))
	return r.top(), nil
}

func syntaxError(path string, err error) error {
	p := Problem{File: path, Message: strings.TrimPrefix(err.Error(), "toml: "), Fix: "correct the line: https://toml.io has the rules"}
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		p.Line, p.Column = decode.Position()
		p.Key = strings.Join(decode.Key(), ".")
	}
	return &Error{Problems: []Problem{p}}
}

// Read reads all of r. It returns an error if r is larger than MaxSize.
func Read(r io.Reader, path string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(data) > MaxSize {
		return nil, wrongFile(path, "larger than %d KiB", MaxSize>>10)
	}
	return data, nil
}

func wrongFile(path, format string, args ...any) error {
	return &Error{Problems: []Problem{{File: path, Message: fmt.Sprintf(format, args...), Fix: "is it the right file?"}}}
}

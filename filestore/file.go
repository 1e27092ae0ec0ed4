package filestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/patchbay-dev/patchbay/internal/entry"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A file consists of one line and the value:
//
//	"KEY" CHECKSUM
//	VALUE
// The key is a JSON string. The checksum is the CRC-32C of the value in eight hexadecimal digits.
// It is needed because a value that was cut off or changed may still be valid JSON.

// sumLen is the length of a space, a checksum and a newline.
const sumLen = 1 + 8 + 1

const (
	// maxHead is the length of the longest first line: a key of control characters only, six bytes
	// each, in quotes.
	maxHead = 6*entry.MaxKey + 2 + sumLen
	maxFile = maxHead + entry.MaxValue
)

// encode returns the content of a key's file.
func encode(key string, value json.RawMessage) []byte {
	content := rawjson.AppendString(make([]byte, 0, len(key)+len(value)+64), key)
	content = fmt.Appendf(content, " %08x\n", checksum(value))
	return append(content, value...)
}

func checksum(value []byte) uint32 { return crc32.Checksum(value, crc32.MakeTable(crc32.Castagnoli)) }

// headLen returns the length of the first line of a key's file.
func headLen(key string) int { return len(rawjson.String(key)) + sumLen }

// decode returns the value in the content of a key's file.
func decode(content []byte, key string) (json.RawMessage, error) {
	got, sum, value, err := split(content)
	switch {
	case err != nil:
		return nil, err
	case got != key:
		return nil, fmt.Errorf("it holds the key %.80q, not %.80q", got, key)
	case fmt.Sprintf("%08x", checksum(value)) != sum:
		return nil, errors.New("its checksum is wrong")
	}
	return value, entry.CheckValue(value)
}

// split separates the first line of a file, the key and the checksum, from the value.
func split(content []byte) (key, sum string, value json.RawMessage, err error) {
	head, value, ok := bytes.Cut(content, []byte{'\n'})
	space := bytes.LastIndexByte(head, ' ')
	if !ok || space < 0 {
		return "", "", nil, errors.New("it does not begin with a key and a checksum")
	}
	key, ok = rawjson.Unquote(head[:space])
	if !ok {
		return "", "", nil, errors.New("it does not begin with a key")
	}
	return key, string(head[space+1:]), value, entry.CheckKey(key)
}

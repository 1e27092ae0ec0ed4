package engine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// The prefixes of all streams and subjects of Patchbay, by which they are recognized on a server
// that others use too.
const (
	streamPrefix  = "patchbay_"
	subjectPrefix = "patchbay."
)

// maxSubject limits an encoded key or topic. By default the server accepts command lines of 4096
// bytes (MAX_CONTROL_LINE_SIZE), which also contain a reply subject and two numbers.
const maxSubject = 3600

// checkName returns an error for a name of a bucket, stream or queue that the server would not
// accept as part of a stream's name.
func checkName(name string) error {
	ok := name != "" && len(name) <= 64
	for i := range len(name) {
		ok = ok && plain(name[i])
	}
	if !ok {
		return fmt.Errorf("name %.80q: want 1 to 64 letters, digits, _ and -", name)
	}
	return nil
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// encode turns any text into the end of a subject, reversibly. A slash becomes a separator of
// tokens, so that the server can find all texts below a prefix. Letters, digits, dash and
// underscore stay. Every other byte becomes =XX, also full stops, blanks and wildcards. An empty
// part between two slashes becomes =, because tokens must not be empty.
func encode(text string) string {
	b := make([]byte, 0, len(text)+8)
	for i, token := range strings.Split(text, "/") {
		if i > 0 {
			b = append(b, '.')
		}
		if token == "" {
			b = append(b, '=')
		}
		for j := range len(token) {
			if c := token[j]; plain(c) {
				b = append(b, c)
			} else {
				b = append(b, '=', hexDigits[c>>4], hexDigits[c&15])
			}
		}
	}
	return string(b)
}

const hexDigits = "0123456789ABCDEF"

var errForeign = errors.New("not a name that this engine wrote")

// decode reverses encode. It refuses texts that encode would not have written.
func decode(tail string) (string, error) {
	b := make([]byte, 0, len(tail))
	for i, token := range strings.Split(tail, ".") {
		if i > 0 {
			b = append(b, '/')
		}
		if token == "=" {
			continue
		}
		for j := 0; j < len(token); j++ {
			c := token[j]
			if c == '=' {
				raw, err := hex.DecodeString(token[j+1 : min(j+3, len(token))])
				if err != nil || len(raw) != 1 {
					return "", errForeign
				}
				c = raw[0]
				j += 2
			}
			b = append(b, c)
		}
	}
	if text := string(b); encode(text) == tail {
		return text, nil
	}
	return "", errForeign
}

// subjectOf returns the subject of a text below a root, which ends with a full stop.
func subjectOf(root, text string) (string, error) {
	return fitting(root+encode(text), text)
}

// fitting returns an error for a subject that is too long for the server. The error names the
// original text.
func fitting(s, text string) (string, error) {
	if len(s) > maxSubject {
		return "", fmt.Errorf("a name of %d bytes (%.40q…): %w: its encoded form may have at most %d bytes", len(text), text, ErrTooLarge, maxSubject)
	}
	return s, nil
}

// Any, as a part of a topic between slashes, matches any one part. Below, as the last part, matches
// one or more parts. They are for the methods of [Stream] that take a topic. A record cannot have
// such a topic.
const (
	Any   = "\x00any"
	Below = "\x00below"
)

// topicFilter returns the subject that matches a pattern with [Any] and [Below].
func topicFilter(root, pattern string) (string, error) {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		switch {
		case part == Any:
			parts[i] = "*"
		case part == Below && i == len(parts)-1:
			parts[i] = ">"
		default:
			parts[i] = encode(part)
		}
	}
	return fitting(root+strings.Join(parts, "."), pattern)
}

// checkTopic returns an error for a topic with wildcards.
func checkTopic(topic string) error {
	for part := range strings.SplitSeq(topic, "/") {
		if part == Any || part == Below {
			return fmt.Errorf("topic %.80q is a pattern: a record cannot have it", topic)
		}
	}
	return nil
}

// filterOf returns a subject with a wildcard that matches all texts with a prefix, and some others:
// the server can match only whole tokens.
func filterOf(root, prefix string) (string, error) {
	i := strings.LastIndexByte(prefix, '/')
	if i < 0 {
		return root + ">", nil
	}
	s, err := subjectOf(root, prefix[:i])
	return s + ".>", err
}

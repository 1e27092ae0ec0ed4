package engine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Streams and subjects of the server's all begin with these, so that an engine that others use too
// can tell whose they are.
const (
	streamPrefix  = "patchbay_"
	subjectPrefix = "patchbay."
)

// maxSubject bounds an encoded key or topic. The server takes a line of commands of 4096 bytes by
// default (MAX_CONTROL_LINE_SIZE), and beside the subject it has to hold a reply subject and two
// numbers.
const maxSubject = 3600

// checkName refuses names of buckets, streams and queues that the server would not take as part of
// a stream's name.
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

// encode turns any text into the tail of a subject, one to one. A slash separates tokens, so that
// the server can find what is below a prefix; letters, digits, dash and underscore stand for
// themselves; every other byte is =XX, full stops, blanks and wildcards too. Nothing at all between
// two slashes is a lone =, because tokens may not be empty.
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

var errForeign = errors.New("not a name of ours")

// decode is encode backwards. It refuses what encode would not have written.
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

// subjectOf is the subject of a text below a root, which ends in a full stop.
func subjectOf(root, text string) (string, error) {
	return fitting(root+encode(text), text)
}

// fitting refuses a subject that is too long for the server. The error names the text that it was
// made of.
func fitting(s, text string) (string, error) {
	if len(s) > maxSubject {
		return "", fmt.Errorf("a name of %d bytes (%.40q…): %w: encoded it may have %d", len(text), text, ErrTooLarge, maxSubject)
	}
	return s, nil
}

// Any, as a part of a topic between slashes, stands for any one part, and Below, as its last part,
// for one or more. They are for [Stream].Read, ReadBack, Follow, Last and Purge; no record has such
// a topic.
const (
	Any   = "\x00any"
	Below = "\x00below"
)

// topicFilter is a subject for the topics that a pattern with [Any] and [Below] means.
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

// checkTopic refuses the topics that only mean others.
func checkTopic(topic string) error {
	for part := range strings.SplitSeq(topic, "/") {
		if part == Any || part == Below {
			return fmt.Errorf("topic %.80q stands for others: no record can have it", topic)
		}
	}
	return nil
}

// filterOf is a subject with a wildcard for all texts that begin with a prefix, and some that do
// not: the server can match whole tokens only.
func filterOf(root, prefix string) (string, error) {
	i := strings.LastIndexByte(prefix, '/')
	if i < 0 {
		return root + ">", nil
	}
	s, err := subjectOf(root, prefix[:i])
	return s + ".>", err
}

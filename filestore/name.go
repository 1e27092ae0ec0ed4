package filestore

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	suffix = ".json"
	// maxName is less than the 255 bytes that file systems allow; encrypting ones allow only 143.
	maxName = 140
)

// dirName returns the name of a plugin's directory, keyName that of a key's file.
func dirName(plugin string) string { return safeName("p-", plugin, "") }
func keyName(key string) string    { return safeName("k-", key, suffix) }

// safeName turns any text into a file name that is safe everywhere. Different texts have different
// names:
//
//   - Only a–z, 0–9, dash, underscore and a full stop that is not the last character stand for
//     themselves; every other byte is %xx. So there is no separator, and no file system takes two
//     names for one because of letter case, Unicode forms or a dropped full stop.
//   - The prefix keeps the name from being hidden, "..", or a device of Windows ("nul").
//   - A text that is too long for a name becomes its SHA-256, with the prefix h-.
func safeName(prefix, text, suffix string) string {
	name := []byte(prefix)
	for i := range len(text) {
		if c := text[i]; plain(c) || c == '.' && i < len(text)-1 {
			name = append(name, c)
		} else {
			name = append(name, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	if len(name)+len(suffix) <= maxName {
		return string(name) + suffix
	}
	sum := sha256.Sum256([]byte(prefix + text))
	return "h-" + hex.EncodeToString(sum[:]) + suffix
}

const hexDigits = "0123456789abcdef"

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// keyFromName returns the key that a file name encodes, and false if it does not encode one.
func keyFromName(name string) (string, bool) {
	text, ok := strings.CutPrefix(name, "k-")
	if !ok {
		return "", false
	}
	text, ok = strings.CutSuffix(text, suffix)
	if !ok {
		return "", false
	}
	key := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			b, err := hex.DecodeString(text[i+1 : min(i+3, len(text))])
			if err != nil || len(b) != 1 {
				return "", false
			}
			c = b[0]
			i += 2
		}
		key = append(key, c)
	}
	// A name that differs from the one that keyName returns was not made by this package.
	return string(key), len(key) > 0 && keyName(string(key)) == name
}

func isHashed(name string) bool {
	return strings.HasPrefix(name, "h-") && strings.HasSuffix(name, suffix)
}

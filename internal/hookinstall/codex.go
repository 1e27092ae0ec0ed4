package hookinstall

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// An Approval is a record that Codex needs before it runs a hook. Without it Codex silently ignores
// the hook.
type Approval struct {
	Event string `json:"event"`
	Key   string `json:"key"`  // the position of the hook
	Hash  string `json:"hash"` // the hash of its content
}

// Approvals returns the approvals for our entries in a Codex file.
func Approvals(p Place, text []byte) ([]Approval, error) {
	values, err := editfile.ReadJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path(), err)
	}
	events, _ := values["hooks"].(map[string]any)
	var all []Approval
	for _, spec := range codehook.Events(codehook.Codex) {
		list, _ := events[spec.Name].([]any)
		for i, item := range list {
			if own, _ := countOurs(codehook.Codex, item); own == 0 {
				continue
			}
			hash, err := codexHash(spec.Name, item)
			if err != nil {
				return nil, err
			}
			all = append(all, Approval{Event: spec.Name, Key: fmt.Sprintf("%s:%s:%d:0", p.Path(), snake(spec.Name), i), Hash: hash})
		}
	}
	return all, nil
}

// codexHash returns the hash that Codex computes for an entry with one handler. Codex hashes
// compact JSON with sorted names. It adds the field async, which our entries lack, with its default
// false.
func codexHash(event string, item any) (string, error) {
	fields, _ := item.(map[string]any)
	handlers, _ := fields["hooks"].([]any)
	if len(handlers) != 1 {
		return "", fmt.Errorf("hooks.%s: an entry of Patchbay's has %d programs in it", event, len(handlers))
	}
	handler, _ := handlers[0].(map[string]any)
	hashed := map[string]any{"event_name": snake(event), "hooks": []any{map[string]any{"async": false, "command": handler["command"],
		"timeout": handler["timeout"], "type": "command"}}}
	if matcher, ok := fields["matcher"]; ok {
		hashed["matcher"] = matcher
	}
	text, err := rawjson.Marshal(hashed) // it sorts the names
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// snake returns an event's name in the form of Codex's keys: PreToolUse becomes pre_tool_use.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// codexConfig returns the file in which Codex stores approvals. It is in the same directory as the
// file of the user's hooks.
func codexConfig(user Place) Place {
	return Place{Agent: codehook.Codex, Dir: filepath.Dir(user.Path()), Name: "config.toml"}
}

// TrustFile returns the file that [Trust] writes.
func TrustFile(user Place) string { return codexConfig(user).Path() }

// Trust writes approvals into the user's Codex configuration. Call it only if the user asks for it.
func Trust(user Place, approvals []Approval) (Change, error) {
	return apply(codexConfig(user), false, func(text []byte) ([]byte, error) { return withApprovals(text, approvals) })
}

// Untrust removes approvals from the user's Codex configuration, whether [Trust] or Codex has
// written them. With dry it writes nothing.
func Untrust(user Place, approvals []Approval, dry bool) (Change, error) {
	return apply(codexConfig(user), dry, func(text []byte) ([]byte, error) {
		return editfile.Undone(TrustFile(user), text, func(text []byte) ([]byte, error) { return withApprovals(text, approvals) },
			func(text []byte) ([]byte, error) { return withoutApprovals(text, approvals) })
	})
}

func withApprovals(text []byte, approvals []Approval) ([]byte, error) {
	for _, a := range approvals {
		hash, err := json.Marshal(a.Hash)
		if err != nil {
			return nil, err
		}
		if text, err = editfile.SetTOML(text, []string{"hooks", "state", a.Key, "trusted_hash"}, hash); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// withoutApprovals removes approvals, and the tables around them that have nothing else. If nothing
// is left, it returns nil.
func withoutApprovals(old []byte, approvals []Approval) ([]byte, error) {
	text := old
	for _, a := range approvals {
		path := []string{"hooks", "state", a.Key, "trusted_hash"}
		left, err := editfile.RemoveTOML(text, path)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(left, text) {
			if empty, err := editfile.RemoveTOML(left, path[:3]); err == nil { // otherwise the user has other values there
				left = empty
			}
		}
		text = left
	}
	if len(bytes.TrimSpace(text)) == 0 && !bytes.Equal(text, old) {
		return nil, nil
	}
	return text, nil
}

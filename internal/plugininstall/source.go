package plugininstall

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// A Kind is the kind of a source.
type Kind string

// The kinds of sources.
const (
	Directory  Kind = "directory"
	SingleFile Kind = "file"
	Archive    Kind = "archive" // a file
	WebArchive Kind = "web"     // an archive at an address
	Git        Kind = "git"
)

// A Source is where plugins come from.
type Source struct {
	Kind Kind
	Text string // as it is recorded and shown: without the ref, and without parts that may be a key
	Path string // of a directory, a file, an archive
	URL  string // of a repository or an archive
	Ref  string // of a repository; "": its default branch
}

// A SourceError is a source that cannot be used.
type SourceError struct{ why, fix string }

func (e *SourceError) Error() string { return e.why }

// Fix returns what to write instead.
func (e *SourceError) Fix() string { return e.fix }

// A missingError is a source that does not exist: fs.ErrNotExist.
type missingError struct{ SourceError }

func (*missingError) Unwrap() error { return fs.ErrNotExist }

// secretParts lists the parts of an address that may be keys: the user, and the part after the ?.
var secretParts = pattern.New(`^([A-Za-z][A-Za-z0-9+.-]*://)?[^/@]*@|[?#].*$`)

// shown returns an address for messages, without parts that may be a key.
func shown(address string) string { return secretParts.Regexp().ReplaceAllString(address, "$1…") }

func badSource(fix, format string, args ...any) error {
	return &SourceError{fmt.Sprintf(format, args...), fix}
}

// forms says what a source looks like.
const forms = "name a directory, a .tar, .tar.gz or .zip archive, OWNER/REPO of GitHub, or a git repository by its path, https or ssh address; @REF after a repository"

var (
	hubName  = pattern.New(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)
	refName  = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}$`)
	scpForm  = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^-:][^:]*$`)
	urlStart = pattern.New(`^[A-Za-z][A-Za-z0-9+.-]*:`)
)

// ParseSource reads a source as typed. Paths are relative to dir. Files on disk have precedence
// over repositories on GitHub.
func ParseSource(text, dir string) (Source, error) {
	switch {
	case text == "", strings.HasPrefix(text, "-"):
		return Source{}, badSource(forms, "%q is not a source", text)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Source{}, badSource(forms, "%q has control characters", text)
	}
	if s, ok, err := onDisk(text, dir); ok || err != nil {
		return s, err
	}
	base, ref, err := splitRef(text)
	if err != nil {
		return Source{}, err
	}
	switch {
	case scpForm.MatchString(base):
		return Source{Kind: Git, Text: base, URL: base, Ref: ref}, nil
	case strings.Contains(base, "://"):
		return atAddress(base, ref)
	case urlStart.MatchString(base):
		return Source{}, badSource("https, ssh and file are supported", "%q: this kind of address is not allowed", shown(base))
	case hubName.MatchString(base) && !strings.HasSuffix(base, ".."):
		return Source{Kind: Git, Text: base, URL: "https://github.com/" + strings.TrimSuffix(base, ".git") + ".git", Ref: ref}, nil
	}
	return Source{}, &missingError{SourceError{fmt.Sprintf("%s: there is no such file or directory, and it is not the address of a repository", shown(text)), forms}}
}

// onDisk returns a source that exists on disk: as typed, or before an @REF.
func onDisk(text, dir string) (s Source, ok bool, err error) {
	if strings.Contains(text, "://") {
		return s, false, nil
	}
	path := absolute(text, dir)
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && isRepository(path) {
		return Source{Kind: Git, Text: path, URL: fileURL(path)}, true, nil
	}
	if err == nil && info.IsDir() {
		return Source{Kind: Directory, Text: path, Path: path}, true, nil
	}
	if err == nil && info.Mode().IsRegular() {
		kind := SingleFile
		if isArchive(path) {
			kind = Archive
		}
		return Source{Kind: kind, Text: path, Path: path}, true, nil
	}
	if err == nil {
		return s, false, badSource(forms, "%s is neither a file nor a directory", text)
	}
	i := strings.LastIndexByte(text, '@')
	if i <= 0 {
		return s, false, nil
	}
	path = absolute(text[:i], dir)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return s, false, nil
	}
	if err := checkRef(text[i+1:]); err != nil {
		return s, false, err
	}
	return Source{Kind: Git, Text: path, URL: fileURL(path), Ref: text[i+1:]}, true, nil
}

func fileURL(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	if abs, err := filepath.Abs(filepath.Join(dir, path)); err == nil {
		return abs
	}
	return filepath.Join(dir, path)
}

// splitRef splits the @REF off an address. An @ before the path belongs to the address.
func splitRef(text string) (base, ref string, err error) {
	from := 0
	if i := strings.Index(text, "://"); i >= 0 {
		from = i + 3
		if slash := strings.IndexByte(text[from:], '/'); slash >= 0 {
			from += slash
		} else {
			from = len(text)
		}
	} else if i := strings.IndexByte(text, ':'); i >= 0 {
		from = i
	}
	i := strings.LastIndexByte(text[from:], '@')
	if i < 0 {
		return text, "", nil
	}
	base, ref = text[:from+i], text[from+i+1:]
	return base, ref, checkRef(ref)
}

// checkRef refuses texts that git would take for an option, a pattern or two refs.
func checkRef(ref string) error {
	if !refName.MatchString(ref) || strings.Contains(ref, "..") || strings.HasSuffix(ref, ".lock") || strings.HasSuffix(ref, "/") {
		return badSource("write a branch, a tag or a whole commit, as in @v1.2.0", "@%s is not a ref", shown(ref))
	}
	return nil
}

// atAddress returns a repository or an archive at an address.
func atAddress(text, ref string) (Source, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Source{}, badSource(forms, "%q is not an address", shown(text))
	}
	if _, secret := u.User.Password(); secret || u.User != nil && u.Scheme != "ssh" {
		return Source{}, badSource("use ssh, or fetch it yourself and install the directory", "an address with a password or a token in it would be written into patchbay.lock")
	}
	switch u.Scheme {
	case "https":
		if u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") {
			return Source{}, badSource(forms, "%q names no host", shown(text))
		}
		if archiveName(u.Path) && ref == "" {
			u.RawQuery, u.ForceQuery, u.Fragment = "", false, ""
			return Source{Kind: WebArchive, Text: u.String(), URL: text}, nil
		}
	case "ssh":
		if h := u.Hostname(); h == "" || strings.HasPrefix(h, "-") || strings.HasPrefix(u.User.Username(), "-") {
			return Source{}, badSource(forms, "%q names no host", shown(text))
		}
	case "file":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return Source{}, badSource("write file:///PATH", "%q names no path", text)
		}
	default:
		return Source{}, badSource("https, ssh and file are supported", "%s: this kind of address is not allowed", u.Scheme)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return Source{}, badSource("write a ref as @REF", "%q: a repository's address has no ? and no #", shown(text))
	}
	return Source{Kind: Git, Text: text, URL: text, Ref: ref}, nil
}

// archiveName reports whether a name is that of an archive.
func archiveName(name string) bool {
	for _, end := range []string{".tar", ".tar.gz", ".tgz", ".zip"} {
		if strings.HasSuffix(strings.ToLower(name), end) {
			return true
		}
	}
	return false
}

package attach

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// maxListed limits how many files and directories [List] visits. A person does not choose from
// more, and visiting so many takes well under a second.
const maxListed = 20_000

// List returns the paths of the regular files below dir. It skips hidden directories and those with
// generated or third-party files.
func List(ctx context.Context, dir string) []string {
	var out []string
	seen := 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > maxListed || ctx.Err() != nil {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil // files that cannot be read are not offered
		case d.IsDir() && name != "." && skippedDir(d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular():
			out = append(out, name)
		}
		return nil
	})
	return out
}

func skippedDir(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "vendor", "__pycache__", "target", "dist"}, name)
}

// Matches returns the paths that contain a word: first those that begin with it, then those whose
// file name does, then the others. Within each group, paths with fewer directories come first.
func Matches(paths []string, word string, most int) []string {
	word = strings.ToLower(word)
	rank := func(p string) int {
		switch p = strings.ToLower(p); {
		case strings.HasPrefix(p, word):
			return 0
		case strings.HasPrefix(path.Base(p), word):
			return 1
		}
		return 2
	}
	var out []string
	for _, p := range paths {
		if strings.Contains(strings.ToLower(p), word) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	return out[:min(len(out), most)]
}

package engine

import (
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/config"
)

// Configured returns the options for the configured engine: a cluster, or the embedded one in the
// data directory.
func Configured(d config.Dirs, c config.Engine) (Options, error) {
	o := Options{Dir: filepath.Join(d.Data, "engine"), URL: c.URL}
	for _, file := range []struct {
		path string
		to   *string
	}{
		{c.Credentials, &o.Credentials}, {c.CA, &o.TLS.CA}, {c.Cert, &o.TLS.Cert}, {c.Key, &o.TLS.Key},
	} {
		if file.path == "" {
			continue
		}
		var err error
		if *file.to, err = d.Resolve(file.path); err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

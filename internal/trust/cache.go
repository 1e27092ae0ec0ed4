package trust

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// maxCache limits the file, which has one entry for each plugin.
const maxCache = 1 << 20

// A cache remembers the sums of a plugin's files, by their sizes, times and inodes. Sums that are
// lost are computed again; a cache that cannot be written only costs time.
type cache struct {
	path string
	log  *slog.Logger
	load sync.Once

	mu    sync.Mutex // protects the fields below
	known map[string]remembered
	dirty bool
}

type remembered struct {
	Stamp  string `json:"stamp"`
	Digest string `json:"digest"`
}

func newCache(path string, log *slog.Logger) *cache {
	return &cache{path: path, log: log, known: make(map[string]remembered)}
}

func (c *cache) read() {
	c.load.Do(func() {
		if c.path == "" {
			return
		}
		data, err := plainfile.Read(c.path, maxCache)
		if err == nil {
			err = json.Unmarshal(data, &c.known)
		}
		if err != nil && !os.IsNotExist(err) {
			c.log.Debug("the cache of sums cannot be read: files are hashed again", "err", err)
		}
		if c.known == nil {
			c.known = make(map[string]remembered)
		}
	})
}

func (c *cache) get(key, stamp string) (digest string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	r := c.known[key]
	return r.Digest, r.Digest != "" && r.Stamp == stamp
}

func (c *cache) put(key, stamp, digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	c.known[key], c.dirty = remembered{stamp, digest}, true
}

// save writes the cache if it has changed. If two processes write it, the last one wins.
func (c *cache) save() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dirty || c.path == "" {
		return
	}
	c.dirty = false
	text, err := json.Marshal(c.known)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.path), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(c.path, text, atomicfile.Options{})
	}
	if err != nil {
		c.log.Debug("the cache of sums cannot be written", "err", err)
	}
}

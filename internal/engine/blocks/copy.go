package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// copyTries is how often Copy tries to open the files of a stream. Another try is necessary if the
// server replaced files meanwhile. It is also necessary while the server creates the stream: it
// creates and syncs one file after the other. The pauses between the tries double, from a
// millisecond to a second.
const copyTries = 12

// Copy reads the files of all streams, also while a server uses them, and passes the files that a
// store needs to the function each.
//
// It reads blocks in the order of their numbers. The server only appends to a block or replaces it
// as a whole, and a deletion is a record in a later block. So the copy is the stream at one moment.
// An incomplete record at the end of the last block is left out. index.db is left out too, because
// the server makes it from the blocks.
func Copy(dir string, each func(stream, file string, data []byte) error) error {
	if err := interrupted(dir); err != nil {
		return err
	}
	all, err := places(dir)
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := p.readable(); err != nil {
			return err
		}
		if err := p.copyTo(each); err != nil {
			return fmt.Errorf("stream %s: %w", p.name, err)
		}
	}
	return nil
}

func (p place) copyTo(each func(stream, file string, data []byte) error) error {
	files, err := p.copy()
	if err != nil {
		return err
	}
	defer closeAll(files)
	for _, f := range files {
		data, err := f.data()
		if err != nil {
			return err
		}
		if err := each(p.name, f.name, data); err != nil {
			return err
		}
	}
	return nil
}

// closeAll closes the files. Closing one a second time does nothing.
func closeAll(files []copied) {
	for _, f := range files {
		f.close()
	}
}

// A copied is one file of a stream. Blocks are opened first and read later: a file that is replaced
// or removed meanwhile can still be read through its handle.
type copied struct {
	name string
	text []byte   // nil: read it from file
	file *os.File // closed after it was read
	last bool     // it may end with an incomplete record
	from place
	num  uint32
}

// copy opens all files of a stream in a consistent state.
func (p place) copy() ([]copied, error) {
	var err error
	for try := range copyTries {
		if try > 0 {
			time.Sleep(time.Millisecond << try / 2)
		}
		var files []copied
		if files, err = p.tryCopy(); err == nil {
			return files, nil
		}
		closeAll(files)
		if !errors.Is(err, errMoving) && !errors.Is(err, errMismatch) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, err
}

var (
	errMoving = errors.New("its files change all the time: try again later")
	// errMismatch is the error of damaged settings, or of settings that the server is writing.
	errMismatch = errors.New("meta.inf and meta.sum do not match: stop the engine, and run `patchbay engine repair`")
)

func (p place) tryCopy() ([]copied, error) {
	files, err := p.copyMeta()
	if err != nil {
		return files, err
	}
	numbers, err := p.numbers()
	if err != nil {
		return files, err
	}
	for i, n := range numbers {
		f, err := plainfile.Open(p.block(n))
		if err != nil {
			return files, err
		}
		files = append(files, copied{name: messages + "/" + blockName(n), file: f, last: i == len(numbers)-1, from: p, num: n})
	}
	after, err := p.numbers()
	if err == nil && !slices.Equal(numbers, after) { // blocks were added or removed while the others were opened
		err = errMoving
	}
	return files, err
}

// copyMeta reads the settings of a stream and its consumers.
func (p place) copyMeta() ([]copied, error) {
	files, err := readMeta(p.dir, "", p.name)
	if errors.Is(err, fs.ErrNotExist) && p.droppedSettings() {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	consumers, err := entriesOf(filepath.Join(p.dir, consumersDir))
	if err != nil {
		return nil, err
	}
	for _, c := range consumers {
		dir := p.consumer(c.Name())
		meta, err := readMeta(dir, "obs/"+c.Name()+"/", p.name+"/"+c.Name())
		if err != nil {
			return nil, err
		}
		state, err := os.ReadFile(filepath.Join(dir, stateFile))
		if err == nil {
			meta = append(meta, copied{name: "obs/" + c.Name() + "/o.dat", text: state})
		} else if !errors.Is(err, fs.ErrNotExist) { // a consumer that has done nothing yet has no o.dat
			return nil, err
		}
		files = append(files, meta...)
	}
	return files, nil
}

// readMeta reads meta.inf and meta.sum, which must match.
func readMeta(dir, below, key string) ([]copied, error) {
	text, err := os.ReadFile(filepath.Join(dir, "meta.inf"))
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(dir, "meta.sum"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, errMismatch)
	}
	if err != nil {
		return nil, err
	}
	h := keyed(sha256.Sum256([]byte(key)))
	h.Write(text)
	if hex.EncodeToString(h.Sum(nil)) != strings.TrimSpace(string(sum)) {
		return nil, fmt.Errorf("%s: %w", dir, errMismatch)
	}
	return []copied{{name: below + "meta.inf", text: text}, {name: below + "meta.sum", text: sum}}, nil
}

func (c copied) close() {
	if c.file != nil {
		_ = c.file.Close() // opened for reading: an error does not matter
	}
}

// data returns the content of the file.
func (c copied) data() ([]byte, error) {
	if c.file == nil {
		return c.text, nil
	}
	defer c.close()
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(c.file, maxBlock+1))
	if err != nil {
		return nil, err
	}
	if n > maxBlock {
		return nil, fmt.Errorf("%s has more bytes than a block can have", c.name)
	}
	data := b.Bytes()
	if c.last {
		if s := scan(data, newHash(c.from.name, c.num)); s.torn && len(s.damage) == 1 {
			data = data[:s.damage[0].From]
		}
	}
	return data, nil
}

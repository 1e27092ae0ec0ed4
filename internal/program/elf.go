package program

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxHeaders bounds the size of the program headers of an ELF file, as the kernel does.
const maxHeaders = 64 << 10

// maxLoader bounds the name of an ELF file's loader.
const maxLoader = 256

// Loader returns the program that the kernel starts to load an ELF program. It is empty for a
// static program and for any other file.
func Loader(file string) string {
	program, f, err := openELF(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	return loaderOf(program)
}

// loaderOf returns the program that the kernel starts to load this one; empty for a static program.
func loaderOf(file *elf.File) string {
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			name, err := io.ReadAll(io.LimitReader(segment.Open(), maxLoader))
			if err == nil {
				return string(bytes.TrimRight(name, "\x00"))
			}
		}
	}
	return ""
}

// openELF opens an ELF file and reads what the kernel reads: its header and its program headers.
func openELF(path string) (*elf.File, *os.File, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	program, err := readELF(f)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return program, f, nil
}

// readELF reads the headers. It ignores the sections: package elf would read all their names into
// memory, and a file may claim to have terabytes of them.
func readELF(r io.ReaderAt) (*elf.File, error) {
	view := &programView{file: r}
	n, err := r.ReadAt(view.head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	view.size = n
	if err := view.passSections(); err != nil {
		return nil, err
	}
	return elf.NewFile(view)
}

// A programView is an ELF file whose header is changed to have no sections.
type programView struct {
	file io.ReaderAt
	head [64]byte // the header; the one for 32 bits is shorter
	size int      // the number of bytes in head
}

// elfLayout holds the offsets of the fields of a header.
type elfLayout struct{ sections, width, headers, headerSize, names int }

// passSections removes the sections from the header. It returns an error for program headers that
// the kernel refuses.
func (v *programView) passSections() error {
	layout := elfLayout{sections: 40, width: 8, headers: 54, headerSize: 56, names: 58}
	if elf.Class(v.head[elf.EI_CLASS]) == elf.ELFCLASS32 {
		layout = elfLayout{sections: 32, width: 4, headers: 42, headerSize: 32, names: 46}
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(v.head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	size, count := int(order.Uint16(v.head[layout.headers:])), int(order.Uint16(v.head[layout.headers+2:]))
	if count > 0 && size != layout.headerSize || size*count > maxHeaders {
		return fmt.Errorf("it has %d program headers of %d bytes", count, size)
	}
	clear(v.head[layout.sections : layout.sections+layout.width])
	clear(v.head[layout.names+2 : layout.names+6]) // their number, and the index of the section with their names
	return nil
}

// ReadAt reads the file with the changed header.
func (v *programView) ReadAt(p []byte, at int64) (int, error) {
	n, err := v.file.ReadAt(p, at)
	if at >= 0 && at < int64(v.size) {
		copy(p[:n], v.head[at:v.size])
	}
	return n, err
}

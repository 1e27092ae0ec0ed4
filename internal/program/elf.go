package program

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// This file reads the parts of an ELF file that the kernel reads. Package debug/elf would read the
// sections too, and a file may claim to have terabytes of them. It would also link the decoders of
// debug information into every program that embeds Patchbay.

// elfMagic begins every ELF file.
const elfMagic = "\x7fELF"

// maxHeaders bounds the size of the program headers of an ELF file, as the kernel does.
const maxHeaders = 64 << 10

// maxLoader bounds the name of an ELF file's loader.
const maxLoader = 256

// loaderSegment is the type of the segment that holds the loader's name: PT_INTERP.
const loaderSegment = 3

// A machine is the processor that an ELF file is for: the field e_machine.
type machine uint16

const (
	machine386   machine = 3
	machinePPC   machine = 20
	machinePPC64 machine = 21
	machineS390  machine = 22
	machineARM   machine = 40
	machineAMD64 machine = 62
	machineARM64 machine = 183
	machineRISCV machine = 243
	machineLoong machine = 258
)

// String returns the machine's name as it is known from ELF tools.
func (m machine) String() string {
	names := map[machine]string{machine386: "386", machinePPC: "PPC", machinePPC64: "PPC64", machineS390: "S390", machineARM: "ARM",
		machineAMD64: "X86_64", machineARM64: "AARCH64", machineRISCV: "RISCV", machineLoong: "LOONGARCH"}
	if name, ok := names[m]; ok {
		return name
	}
	return "machine number " + strconv.Itoa(int(m))
}

// An elfProgram is what the kernel reads of an ELF file.
type elfProgram struct {
	machine machine
	loader  string // the program that the kernel starts to load this one; empty for a static program
}

// Loader returns the program that the kernel starts to load an ELF program. It is empty for a
// static program and for any other file.
func Loader(file string) string {
	program, err := openELF(file)
	if err != nil {
		return ""
	}
	return program.loader
}

// openELF reads the headers of the ELF file at path.
func openELF(path string) (elfProgram, error) {
	f, err := openRegular(path)
	if err != nil {
		return elfProgram{}, err
	}
	program, err := readELF(f)
	return program, errors.Join(err, f.Close())
}

// An elfLayout holds the sizes of the header and of a program header, and the offsets of their
// fields.
type elfLayout struct {
	size, width            int // of the header, and of an offset in the file
	table, entry           int // in the header: where the program headers begin, and the size of one
	entrySize, start, long int // of a program header: its size, and the fields for place and length of its segment
}

// layouts returns the layouts by the class of a file.
func layouts() map[byte]elfLayout {
	return map[byte]elfLayout{
		1: {size: 52, width: 4, table: 28, entry: 42, entrySize: 32, start: 4, long: 16},
		2: {size: 64, width: 8, table: 32, entry: 54, entrySize: 56, start: 8, long: 32},
	}
}

// readELF reads the header, and finds the loader through the program headers.
func readELF(r io.ReaderAt) (elfProgram, error) {
	head := make([]byte, 64)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return elfProgram{}, err
	}
	layout, known := layouts()[head[4]]
	orders := map[byte]binary.ByteOrder{1: binary.LittleEndian, 2: binary.BigEndian}
	order, ordered := orders[head[5]]
	switch {
	case !bytes.HasPrefix(head, []byte(elfMagic)) || !known || !ordered:
		return elfProgram{}, errors.New("its header is unknown")
	case n < layout.size:
		return elfProgram{}, io.EOF
	}
	program := elfProgram{machine: machine(order.Uint16(head[18:]))}
	size, count := int(order.Uint16(head[layout.entry:])), int(order.Uint16(head[layout.entry+2:]))
	if count > 0 && size != layout.entrySize || size*count > maxHeaders {
		return elfProgram{}, fmt.Errorf("it has %d program headers of %d bytes", count, size)
	}
	table := make([]byte, size*count)
	if err := readAt(r, table, layout.offset(order, head[layout.table:])); err != nil {
		return elfProgram{}, err
	}
	program.loader = layout.loader(r, order, table)
	return program, nil
}

// loader returns the name in the first segment of type loaderSegment whose name can be read, or "".
func (l elfLayout) loader(r io.ReaderAt, order binary.ByteOrder, table []byte) string {
	for ; len(table) >= l.entrySize; table = table[l.entrySize:] {
		if order.Uint32(table) != loaderSegment {
			continue
		}
		name := make([]byte, min(l.offset(order, table[l.long:]), maxLoader))
		if readAt(r, name, l.offset(order, table[l.start:])) == nil {
			return string(bytes.TrimRight(name, "\x00"))
		}
	}
	return ""
}

// offset reads an offset or a length.
func (l elfLayout) offset(order binary.ByteOrder, b []byte) uint64 {
	if l.width == 4 {
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// readAt fills b from a place in the file. An offset that no file can have counts as past the end.
func readAt(r io.ReaderAt, b []byte, at uint64) error {
	if at > 1<<62 {
		return io.EOF
	}
	n, err := r.ReadAt(b, int64(at))
	if n == len(b) {
		return nil
	}
	return err
}

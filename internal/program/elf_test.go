package program

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// TestReadELF compares readELF with package debug/elf, for both classes and both byte orders.
func TestReadELF(t *testing.T) {
	const loader = "/lib/ld.so.1"
	for name, order := range map[string]binary.ByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		data := map[string]string{"little": "\x01", "big": "\x02"}[name]
		wide := elf.Header64{Type: 2, Machine: uint16(elf.EM_AARCH64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 2}
		copy(wide.Ident[:], elf.ELFMAG+"\x02"+data+"\x01")
		narrow := elf.Header32{Type: 2, Machine: uint16(elf.EM_386), Version: 1, Phoff: 52, Ehsize: 52, Phentsize: 32, Phnum: 2}
		copy(narrow.Ident[:], elf.ELFMAG+"\x01"+data+"\x01")
		for class, parts := range map[string][]any{
			"64": {wide, elf.Prog64{Type: 1}, elf.Prog64{Type: uint32(elf.PT_INTERP), Off: 176, Filesz: uint64(len(loader) + 1)}},
			"32": {narrow, elf.Prog32{Type: 1}, elf.Prog32{Type: uint32(elf.PT_INTERP), Off: 116, Filesz: uint32(len(loader) + 1)}},
		} {
			t.Run(class+" bits, "+name+" endian", func(t *testing.T) {
				var file bytes.Buffer
				for _, part := range parts {
					if err := binary.Write(&file, order, part); err != nil {
						t.Fatal(err)
					}
				}
				file.WriteString(loader + "\x00")
				want, err := elf.NewFile(bytes.NewReader(file.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				got, err := readELF(bytes.NewReader(file.Bytes()))
				if err != nil || got.loader != loader || got.machine != machine(want.Machine) || "EM_"+got.machine.String() != want.Machine.String() {
					t.Errorf("got %+v, %v", got, err)
				}
				for n := range file.Len() { // a file that is cut off anywhere has no loader
					if cut, err := readELF(bytes.NewReader(file.Bytes()[:n])); err == nil && cut.loader != "" {
						t.Errorf("cut to %d bytes: %+v", n, cut)
					}
				}
			})
		}
	}
}

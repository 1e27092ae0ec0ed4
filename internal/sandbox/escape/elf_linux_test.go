package escape

import "encoding/binary"

// loadAddress is the address at which the program is mapped. Any page that is free in an empty
// process will do.
const loadAddress = 0x400000

// program returns an x86-64 executable of a few hundred bytes that prints one of two texts: the
// first as root, the second as another user.
func program(root, others string) []byte {
	const header = 64 + 56 // ELF header and one program header
	code := []byte{
		0xb8, 107, 0, 0, 0, // mov eax, geteuid
		0x0f, 0x05, // syscall
		0x48, 0xbe, 0, 0, 0, 0, 0, 0, 0, 0, // mov rsi, root
		0xba, byte(len(root)), 0, 0, 0, // mov edx, its length
		0x85, 0xc0, // test eax, eax
		0x74, 15, // je print
		0x48, 0xbe, 0, 0, 0, 0, 0, 0, 0, 0, // mov rsi, others
		0xba, byte(len(others)), 0, 0, 0, // mov edx, its length
		0xb8, 1, 0, 0, 0, // print: mov eax, write
		0xbf, 1, 0, 0, 0, // mov edi, stdout
		0x0f, 0x05, // syscall
		0xb8, 60, 0, 0, 0, // mov eax, exit
		0x31, 0xff, // xor edi, edi
		0x0f, 0x05, // syscall
	}
	texts := uint64(loadAddress + header + len(code))
	binary.LittleEndian.PutUint64(code[9:], texts)
	binary.LittleEndian.PutUint64(code[28:], texts+uint64(len(root)))
	size := uint64(header + len(code) + len(root) + len(others))

	le := binary.LittleEndian
	elf := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	elf = le.AppendUint16(elf, 2)  // an executable
	elf = le.AppendUint16(elf, 62) // x86-64
	elf = le.AppendUint32(elf, 1)
	elf = le.AppendUint64(elf, loadAddress+header) // entry
	elf = le.AppendUint64(elf, 64)                 // where the program header is
	elf = le.AppendUint64(elf, 0)
	elf = le.AppendUint32(elf, 0)
	for _, n := range []uint16{64, 56, 1, 0, 0, 0} {
		elf = le.AppendUint16(elf, n)
	}
	elf = le.AppendUint32(elf, 1) // load
	elf = le.AppendUint32(elf, 5) // readable, executable
	for _, n := range []uint64{0, loadAddress, loadAddress, size, size, 0x1000} {
		elf = le.AppendUint64(elf, n)
	}
	elf = append(elf, code...)
	return append(append(elf, root...), others...)
}

//go:build linux

package hosttest

import "encoding/binary"

// This file has the part of protobuf's encoding that Cursor's backend needs: numbered fields with a
// number or bytes.

// A field is one field of a message.
type field struct {
	no     int
	number uint64 // if the field is a number
	data   []byte // if the field is bytes, a text or a message
}

// message encodes fields, in order.
func message(fields ...field) []byte {
	var out []byte
	for _, f := range fields {
		if f.data == nil {
			out = binary.AppendUvarint(out, uint64(f.no)<<3)
			out = binary.AppendUvarint(out, f.number)
			continue
		}
		out = binary.AppendUvarint(out, uint64(f.no)<<3|2)
		out = binary.AppendUvarint(out, uint64(len(f.data)))
		out = append(out, f.data...)
	}
	return out
}

func text(no int, s string) field { return field{no: no, data: append([]byte{}, s...)} }

func number(no int, n uint64) field { return field{no: no, number: n} }

// nested returns a message as a field of another, even if it is empty.
func nested(no int, fields ...field) field {
	return field{no: no, data: append([]byte{}, message(fields...)...)}
}

// parse decodes a message up to the first part that it does not understand.
func parse(data []byte) []field {
	var fields []field
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 {
			return fields
		}
		f := field{no: int(key >> 3)}
		data = data[n:]
		size, width := uint64(0), 0
		switch key & 7 {
		case 0:
			f.number, width = binary.Uvarint(data)
		case 1:
			width = 8
		case 2:
			size, width = binary.Uvarint(data)
		case 5:
			width = 4
		}
		if width <= 0 || size > uint64(len(data)-width) {
			return fields
		}
		if key&7 == 2 {
			f.data = data[width : width+int(size)]
		}
		data = data[width+int(size):]
		fields = append(fields, f)
	}
	return fields
}

// within returns the bytes of the field at a path of field numbers, or nil if there is none.
func within(data []byte, path ...int) []byte {
	for _, no := range path {
		data = first(parse(data), no)
	}
	return data
}

// varint returns the first field of that number as a number, or 0 if there is none.
func varint(data []byte, no int) uint64 {
	for _, f := range parse(data) {
		if f.no == no {
			return f.number
		}
	}
	return 0
}

func first(fields []field, no int) []byte {
	for _, f := range fields {
		if f.no == no {
			return f.data
		}
	}
	return nil
}

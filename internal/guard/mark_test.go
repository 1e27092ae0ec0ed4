package guard

import "testing"

// TestMark: a mark matches the limits with its value under its mask, and only its own text is
// parsed.
func TestMark(t *testing.T) {
	m := Mark{Value: 0xabc00000, Mask: ^uint64(0xfffff)}
	for limit, want := range map[uint64]bool{0xabc00000: true, 0xabc00001: true, 0xabcfffff: true, 0xabd00000: false, 0: false, ^uint64(0): false} {
		if m.On(limit) != want {
			t.Errorf("%x: %v", limit, !want)
		}
	}
	if (Mark{}).On(0) {
		t.Error("the zero mark matches a process")
	}
	if back, err := ParseMark(m.String()); err != nil || back != m {
		t.Errorf("%v, %v", back, err)
	}
	for _, bad := range []string{"", "/", "1", "1/", "/1", "x/1", "1/x", "1/11111111111111111"} {
		if _, err := ParseMark(bad); err == nil {
			t.Errorf("ParseMark(%q) returned no error", bad)
		}
	}
}

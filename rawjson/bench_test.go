package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// event300 is a typical hook event of 300 bytes.
var event300 = `{"session_id":"a81bc81b-dead-4e5d-abff-90865d1e13b1","tool":"write_file","call_id":"call_0042",` +
	`"arguments":{"path":"src/main.go","mode":420,"content":"package main\n\nfunc main() {}\n"},"success":true,"duration_us":1834,` +
	`"working_dir":"/home/someone/project","error":null,"result":"` + strings.Repeat("r", 20) + `"}`

func BenchmarkParse300(b *testing.B) {
	doc := []byte(event300)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rawjson.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck64KiBString(b *testing.B) {
	doc := rawjson.String(strings.Repeat("x", 64<<10))
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := rawjson.Check(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCheck64KiBOfLines checks a text of short lines. The search starts again after each
// newline.
func BenchmarkCheck64KiBOfLines(b *testing.B) {
	doc := rawjson.String(strings.Repeat("the quick brown fox jumps over the lazy dog while no one at all is looking\n", 860))
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := rawjson.Check(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck64KiBOfEvents(b *testing.B) {
	doc := []byte("[" + strings.Repeat(event300+",", 217) + "1]")
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := rawjson.Check(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendString64KiB(b *testing.B) {
	text := strings.Repeat("a line of text, sixty-three characters and then one newline....\n", 1<<10)
	b.SetBytes(int64(len(text)))
	var buf []byte
	for b.Loop() {
		buf = rawjson.AppendString(buf[:0], text)
	}
}

func BenchmarkCheck300(b *testing.B) {
	doc := []byte(event300)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := rawjson.Check(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStdValid300(b *testing.B) {
	doc := []byte(event300)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if !json.Valid(doc) {
			b.Fatal()
		}
	}
}

// BenchmarkRequote reads a file's text, with an escape in each line, and an event with few escapes.
func BenchmarkRequote(b *testing.B) {
	lines := rawjson.String(strings.Repeat("the quick brown fox jumps over the lazy dog\n", 1<<10))
	for name, doc := range map[string][]byte{"Lines": lines, "Event": []byte(event300)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				rawjson.Requote(doc)
			}
		})
	}
}

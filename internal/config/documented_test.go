package config

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestEveryKeyIsDocumented: the page on the configuration has a line for every key that is read.
func TestEveryKeyIsDocumented(t *testing.T) {
	source, err := os.ReadFile("schema.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile(`(?:\bt\.[A-Z]\w*\(|readSize\(t, |count\()"([a-z_]+)"`).FindAllSubmatch(source, -1)
	if len(keys) < 30 {
		t.Fatalf("only %d keys are read; this test does not see how", len(keys))
	}
	for _, key := range keys {
		if line := regexp.MustCompile(`(?m)^(` + string(key[1]) + ` = |\[+(\w+[-.])*` + string(key[1]) + `[\].])`); !line.Match(page) {
			t.Errorf("docs/configuration.md has no line for %s", key[1])
		}
	}
}

package secretenv

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestWithout(t *testing.T) {
	got := Without([]string{"PATH=/bin", "PATCHBAY_TOKEN=x", "openai_api_key=x", "GOOGLE_API_KEY=x", "NOTION_API_KEY=x", "nonsense", "A==B"})
	if want := []string{"PATH=/bin", "NOTION_API_KEY=x", "A==B"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestThePagesList: docs/protocols/dotagent.md lists the keys of model providers.
func TestThePagesList(t *testing.T) {
	page, err := os.ReadFile("../../docs/protocols/dotagent.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "### Variables that plugins do not get\n")
	list, _, _ = strings.Cut(list, "All others stay")
	for _, key := range keys {
		if !strings.Contains(list, "`"+key+"`") {
			t.Errorf("the page does not list %s", key)
		}
	}
}

func TestLooks(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"NOTION_TOKEN", "128000", true},
		{"Db_Password", "128000", true},
		{"API_TOKENS", "t0ken-a,t0ken-b", true},
		{"MAX_TOKENS", "128000", false},
		{"max_output_tokens", "128000", false},
		{"PAGER", "less", false},
	} {
		if got := Looks(c.name, c.value); got != c.want {
			t.Errorf("%s=%s looks secret: %v", c.name, c.value, got)
		}
	}
}

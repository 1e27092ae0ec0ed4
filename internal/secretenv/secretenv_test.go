package secretenv

import (
	"slices"
	"testing"
)

func TestWithout(t *testing.T) {
	got := Without([]string{"PATH=/bin", "PATCHBAY_TOKEN=x", "openai_api_key=x", "GOOGLE_API_KEY=x", "NOTION_API_KEY=x", "nonsense", "A==B"})
	if want := []string{"PATH=/bin", "NOTION_API_KEY=x", "A==B"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

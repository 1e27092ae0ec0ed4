package notify_test

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/notify"
)

// A dry run shows what would be sent, and sends nothing.
func ExampleNew() {
	secrets := map[string]string{"NTFY_TOPIC": "nobody-guesses-this"}
	n, err := notify.New(notify.Ntfy, map[string]any{"topic": "${NTFY_TOPIC}", "priority": "high"}, notify.Options{
		Lookup: func(name string) (string, bool) { v, ok := secrets[name]; return v, ok },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := n.Describe(notify.Message{
		Agent: "finops", Schedule: "weekly", Event: notify.AttemptFailed, Attempt: 2, Attempts: 3,
		Body: "not logged in", Suggest: "finops login",
	})
	fmt.Println(p.Method, p.Address)
	fmt.Println(p.Body)
	// Output:
	// POST https://ntfy.sh/
	// {"topic":"***","title":"finops (weekly): attempt 2 of 3 failed","message":"not logged in\n\nSuggestion: finops login","priority":4}
}

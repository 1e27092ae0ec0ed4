package tui

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// The test binary, started with programEnv set, is a chat program around a scripted conversation.
const (
	programEnv = "TUI_TEST_PROGRAM"
	gateEnv    = "TUI_TEST_GATE"
	historyEnv = "TUI_TEST_HISTORY"
	offlineEnv = "TUI_TEST_OFFLINE"
	pastEnv    = "TUI_TEST_PAST"   // how many messages the conversation has
	othersEnv  = "TUI_TEST_OTHERS" // how many more sessions there are

	pidSuffix = ".pid" // beside the gate is a file with the id of the process
)

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		os.Exit(program())
	}
	goleak.VerifyTestMain(m)
}

func program() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c := newScripted()
	c.gate = os.Getenv(gateEnv)
	if err := os.WriteFile(c.gate+pidSuffix, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	c.info.Offline = os.Getenv(offlineEnv) != ""
	past, _ := strconv.Atoi(os.Getenv(pastEnv))
	for i := range past {
		c.past = append(c.past, model.Message{Role: model.Assistant, Content: fmt.Sprintf("answer %03d", i)})
	}
	c.others = []SessionRow{{ID: "ses_01thumb", Title: "thumbs 👍🏽👍🏽👍🏽", Dir: "~", Here: true, Turns: 1, Used: time.Now()}}
	others, _ := strconv.Atoi(os.Getenv(othersEnv))
	for i := range others {
		c.others = append(c.others, SessionRow{ID: fmt.Sprintf("ses_%03d", i), Title: fmt.Sprintf("title %03d", i), Dir: "~/elsewhere", Turns: 1, Used: time.Now()})
	}
	a := NewApprover()
	c.approve = a.Approve
	err := Run(ctx, c, Options{In: os.Stdin, Out: os.Stdout, Approver: a,
		HistoryFile: os.Getenv(historyEnv), NoColor: os.Getenv("NO_COLOR") != ""})
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	fmt.Println("left cleanly")
	return 0
}

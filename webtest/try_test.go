package webtest

import "testing"

// A tool is called with its form. An invalid argument has its error beside the field. The answer,
// its trace and the log are below.
func TestTryATool(t *testing.T) {
	p := newTab(t, newSite(t), "/try")
	p.picture("try")
	p.click(`a[href="/try/tool/tuner.greet"]`)
	p.at("/try/tool/tuner.greet")
	p.click("=Call")
	p.until("the reason beside the field", `document.querySelector('#argument-who-error')?.innerText.includes('required')`)
	p.fill("#argument-who", "Ben")
	p.click("=Call")
	p.seeIn("[data-answer]", "Hello, Ben")
	p.seeIn("[data-step=tuner]", "_context")
	p.seeIn("[data-step=tuner] [data-log]", "greeted Ben for the 1. time")
	p.until("the reason to be gone", `!document.querySelector('#argument-who-error')`)
	p.picture("try-tool")
	p.checkAxe()

	p.click("=As JSON")
	p.write("Arguments", `{"who": "Ada"}`)
	p.click("=Call")
	p.seeIn("[data-answer]", "Hello, Ada")
	p.until("all three to be kept", `document.querySelectorAll('[data-sent]').length === 3`)
	p.click("[data-sent='2']")
	p.seeIn("[data-answer]", "Hello, Ben")
	p.seeIn("[data-step=tuner] [data-log]", "greeted Ben for the 1. time")
	p.click("=As a form")
	p.until("the form to be as it was sent", `document.querySelector('#argument-who').value === 'Ben'`)

	p.click(`a[href="/try/tool/lamp_switch"]`)
	p.click("#argument-on")
	p.click("=Call")
	p.seeIn("[data-answer]", "It shines.")
	p.seeIn("[data-step=lamp]", "switch")
}

// A call whose plugin crashes has a trace too, with what was sent and how the call ended.
func TestTryAToolThatCrashes(t *testing.T) {
	p := newTab(t, newSite(t), "/try/tool/tuner.crash")
	p.click("=Call")
	p.seeIn("[data-answer]", "The plugin gave no answer")
	p.seeIn("[data-step=tuner] [role=alert]", "crash")
	p.seeIn("[data-step=tuner]", "_context")
	p.picture("try-crash")
	p.checkAxe()
}

// A point is fired with its sample and with another payload; each plugin's step is shown.
func TestTryAPoint(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/try/point/turn.input")
	p.click("=Send")
	p.seeIn("[data-outcome]", "HELLO, PLUGIN!")
	p.seeIn("[data-step=shout]", "Hello, plugin!")
	p.picture("try-point")
	p.checkAxe()
	p.write("Payload", `{"message": "and once more"}`)
	p.click("=Send")
	p.seeIn("[data-outcome]", "AND ONCE MORE")
	p.write("Payload", `{"message": `)
	p.see("This is not JSON")
	p.until("nothing to be sent", `(`+find("=Send")+`).disabled`)
	p.open("/try/tool/none")
	p.see("There is no tool none")
	p.open("/try/point/turn.final")
	p.click("=Send")
	p.until("both plugins to be called", `document.querySelectorAll('main [role=tab]').length === 2`)
	p.click("#tried-1")
	p.seeIn("[data-step=sign]", "-- signed")
}

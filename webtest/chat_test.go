package webtest

import (
	"testing"
)

// A user begins a session with a plugin and sends a message. The page shows the tools that run,
// holds the reply until the plugin has seen it, and shows beside it what plugins changed. A link
// leads to the trace.
func TestChat(t *testing.T) {
	s := newSite(t, scripted(t, talk))
	s.call("POST", "/feature/plugins/enable", nil, nil)
	p := newTab(t, s, "/chat")
	p.see("No session yet")
	p.click("=New session")
	p.click("[data-pick=sign]")
	p.click("=Begin")
	p.see("No messages yet")
	p.seeIn("[data-active]", "sign")
	p.fill("#message", "what is here?")
	p.press("\r")
	p.see("Shown when plugins have seen the whole reply.")
	p.seeIn("[data-role=assistant]", "Let me look first.")
	p.click("[data-tool=shell] summary")
	p.seeIn("[data-tool=shell]", "tools work")
	p.see("-- signed")
	p.unsee("Shown when plugins have seen")
	p.seeIn("[data-change=shout]", "WHAT IS HERE?")
	p.seeIn("[data-change=sign]", "-- signed")
	p.until("the reply to be shown once", `document.querySelectorAll('article').length === 1`)
	p.until("the session to have its title", `document.querySelector('main h1').innerText === 'WHAT IS HERE?'`)
	p.checkAxe()
	p.picture("chat-turn")
	p.click("aside a[href^='/trace/ses_']")
	p.seeIn("main h1", "what is here?")
	p.seeIn("[data-plugin=sign]", "on_final")
}

// A reply's table and headings are shown as such, and its wide table fits on a phone.
func TestChatTable(t *testing.T) {
	const reply = `
- text: |
    ## What is **here**

    | Name | Size |
    |:---|---:|
    | ` + "`script.yaml`" + ` | **120** |
    | a\|b | a-size-that-is-so-long-that-it-does-not-fit-on-any-phone-of-today-or-tomorrow |

    a | b is not a table
`
	s := newSite(t, scripted(t, reply))
	id := s.begin()
	s.say(id, "what is here?")
	p := newTab(t, s, "/chat/"+id)
	p.until("the table", `document.querySelector('[data-role=assistant] th:nth-child(2)')?.innerText === 'Size'`)
	p.until("its rows", `[...document.querySelectorAll('[data-role=assistant] tbody tr')].map((row) => row.cells[0].innerText).join() === 'script.yaml,a|b'`)
	p.until("bold words in a cell", `document.querySelector('[data-role=assistant] td strong')?.innerText === '120'`)
	p.until("the heading without its marks", `document.querySelector('[data-role=assistant] .heading')?.innerText === 'What is here'`)
	p.seeIn("[data-role=assistant]", "a | b is not a table")
	p.checkAxe()
	p.picture("chat-table")
	p.fits()
}

// A turn that takes too long is interrupted; its messages stay.
func TestChatInterrupted(t *testing.T) {
	s := newSite(t, scripted(t, "- text: one two three four five six seven eight nine ten eleven twelve thirteen\n  delay: 3s\n"))
	p := newTab(t, s, "/chat/"+s.begin())
	p.fill("#message", "count slowly")
	p.press("\r")
	p.seeIn("[data-change=shout]", "COUNT SLOWLY") // the message was sent to the model
	p.click("=Stop")
	p.see("This turn was interrupted")
	p.seeIn("[data-role=user]", "COUNT SLOWLY")
	p.until("the field to be free again", `!document.querySelector('#message').disabled && [...document.querySelectorAll('form button')].some((b) => b.innerText === 'Send')`)
}

// A session of another agent is in the list as soon as its hook has called, with the agent's name.
// The page shows its events and what plugins did with them, and no field to type into.
func TestChatOfAnotherAgent(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/chat")
	p.see("No session yet")
	s.hook("claude", "UserPromptSubmit", map[string]any{"session_id": "s", "cwd": s.Home, "prompt": "hello from elsewhere"})
	p.seeIn("[data-session]", "claude")
	p.click("[data-session]")
	p.see("This is a session of claude")
	p.seeIn("[data-role=user]", "hello from elsewhere")
	p.seeIn("[data-change=shout]", "HELLO FROM ELSEWHERE")
	p.until("no field to type into", `!document.querySelector('#message')`)
	p.picture("chat-of-another-agent")
}

package notify

import (
	"net/http"
	"strings"
)

// telegramLimit is the limit of a message, in UTF-16 units and without escapes and tags.
const telegramLimit = 4096

type telegramPost struct {
	ChatID    string `json:"chat_id"`
	Text      string `json:"text"`
	ParseMode string `json:"parse_mode,omitempty"`
	Silent    bool   `json:"disable_notification,omitempty"`
}

// newTelegram sends as a bot. Reach calls getMe, which checks the token but not the chat.
func newTelegram(s *settings) maker {
	base := s.address("base_url", "https://api.telegram.org")
	token, chat := s.required("bot_token", s.secret("bot_token")), s.required("chat_id", s.word("chat_id"))
	if strings.ContainsAny(token.value, "/?#%") { // the token becomes part of the path
		s.Bad("bot_token", "write only the token, without the address that contains it", "has characters that are not allowed")
	}
	mode := s.oneOf("parse_mode", "HTML", "MarkdownV2", "Markdown")
	silent := s.Bool("disable_notification", false)
	return func(o Options) (Notifier, error) {
		r := newRemote(s, o)
		r.message = func(m Message, v view) request {
			return jsonPost(base.in(v)+"/bot"+token.in(v)+"/sendMessage", telegramPost{
				ChatID: chat.in(v), Text: telegramText(m, telegramModes[mode]), ParseMode: mode,
				Silent: silent,
			})
		}
		r.probe = request{method: http.MethodGet, url: base.value + "/bot" + token.value + "/getMe"}
		return r, nil
	}
}

// A telegramMode says how a text is written for one parse_mode.
type telegramMode struct {
	escape     *strings.Replacer
	bold, thin string // around the headline
}

// telegramModes are the modes; "" is plain text. The words of an agent are escaped in every mode,
// because Telegram refuses a message with wrong markup.
var telegramModes = map[string]telegramMode{
	"":           {escape: strings.NewReplacer()},
	"HTML":       {strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;"), "<b>", "</b>"},
	"Markdown":   {escape: backslashEscaper("_*`[")}, // no bold: nothing can be escaped inside it
	"MarkdownV2": {backslashEscaper("\\_*[]()~`>#+-=|{}.!"), "*", "*"},
}

// backslashEscaper returns a replacer that puts a backslash before each of some characters.
func backslashEscaper(special string) *strings.Replacer {
	var pairs []string
	for _, c := range special {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...)
}

func telegramText(m Message, mode telegramMode) string {
	headline := cut(m.Headline(), telegramLimit/4, utf16Units)
	out := mode.bold + mode.escape.Replace(headline) + mode.thin
	if rest := m.paragraphs(telegramLimit-utf16Units(headline+"\n"), utf16Units); rest != "" {
		out += "\n" + mode.escape.Replace(rest)
	}
	return out
}

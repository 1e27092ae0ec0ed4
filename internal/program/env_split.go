package program

import (
	"errors"
	"strings"
)

// splitString splits the value of env's option -S into words: at blanks outside of quotes, with GNU
// env's escapes, and with ${NAME} from the environment.
func splitString(text string, env []string) ([]string, error) {
	s := splitter{text: text, env: env}
	for s.at < len(s.text) && !s.ended {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	if s.quote != 0 {
		return nil, errors.New("-S: a quote is not closed")
	}
	s.endWord()
	return s.words, nil
}

// A splitter reads the text byte by byte.
type splitter struct {
	text  string
	env   []string
	at    int
	quote byte // the open quote; 0 if there is none
	ended bool // by a comment or \c

	word   strings.Builder
	within bool // a word has begun, which may be an empty one in quotes
	words  []string
}

func (s *splitter) next() error {
	c := s.text[s.at]
	s.at++
	switch {
	case c == '\\' && s.quote == '\'':
		s.singleEscape()
	case c == '\\':
		return s.escape()
	case c == '$' && s.quote != '\'':
		return s.variable()
	case s.quote != 0 && c == s.quote:
		s.quote = 0
	case s.quote != 0:
		s.add(c)
	case c == '"' || c == '\'':
		s.quote, s.within = c, true
	case strings.IndexByte(" \t\n\v\f\r", c) >= 0:
		s.endWord()
	case c == '#' && !s.within:
		s.ended = true
	default:
		s.add(c)
	}
	return nil
}

func (s *splitter) add(c byte) {
	s.within = true
	s.word.WriteByte(c)
}

func (s *splitter) endWord() {
	if s.within {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.within = false
}

// singleEscape handles a backslash between single quotes, where it escapes only the quote and
// itself.
func (s *splitter) singleEscape() {
	if s.at < len(s.text) && (s.text[s.at] == '\'' || s.text[s.at] == '\\') {
		s.add(s.text[s.at])
		s.at++
		return
	}
	s.add('\\')
}

// escapes maps the letter after a backslash to the character that it stands for.
var escapes = map[byte]byte{'"': '"', '#': '#', '$': '$', '\'': '\'', '\\': '\\', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

func (s *splitter) escape() error {
	if s.at == len(s.text) {
		return errors.New("-S: a backslash at the end")
	}
	c := s.text[s.at]
	s.at++
	plain, known := escapes[c]
	switch {
	case known:
		s.add(plain)
	case c == '_' && s.quote == '"':
		s.add(' ')
	case c == '_':
		s.endWord()
	case c == 'c' && s.quote == 0:
		s.ended = true
	default:
		return errors.New("-S: an escape that env does not know")
	}
	return nil
}

// variable reads ${NAME}.
func (s *splitter) variable() error {
	rest, ok := strings.CutPrefix(s.text[s.at:], "{")
	name, _, closed := strings.Cut(rest, "}")
	if !ok || !closed || name == "" {
		return errors.New("-S: only ${NAME} is expanded")
	}
	s.at += len(name) + 2
	s.within = true
	s.word.WriteString(Getenv(s.env, name))
	return nil
}

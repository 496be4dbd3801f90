package session

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shown writes text for people and escapes what a terminal would obey: control characters and marks that turn
// text around, whoever wrote them into a name, a message or a file. Lines, tabs and our own colours pass, and so
// does everything that machines read.
type shown struct {
	to  io.Writer
	raw func() bool
}

var ownColours = []string{green, red, yellow, plain}

func (s *shown) Write(text []byte) (int, error) {
	if s.raw() {
		return s.to.Write(text)
	}
	if _, err := io.WriteString(s.to, escaped(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// escaped is text with \u202e for what cannot be shown, which JSON has in strings too.
func escaped(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		own := slices.IndexFunc(ownColours, func(c string) bool { return strings.HasPrefix(text, c) })
		switch {
		case own >= 0:
			size = len(ownColours[own])
			b.WriteString(text[:size])
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || strconv.IsPrint(r):
			b.WriteString(text[:size])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.String()
}

// Control moves the cursor of a terminal.
func (a *Session) Control(format string, args ...any) {
	w := a.Out
	if s, ok := w.(*shown); ok {
		w = s.to
	}
	Say(w, format, args...)
}

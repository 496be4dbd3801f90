package session

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shown writes text for people and escapes what a terminal would obey: control characters and marks that turn
// text around, whoever wrote them into a name, a message or a file. Lines and tabs pass, and so does everything
// that machines read. Colours do not: what is Painted goes around it.
type shown struct {
	to  io.Writer
	raw func() bool
}

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
		switch {
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

// raw says that standard output is for a program, which gets every byte as it is. What comes to a terminal is for the
// eyes of a person in every format.
func (a *Session) raw() bool { return a.Machine && !a.Terminal && a.colour != colourAlways }

// Painted is text as a terminal is to have it: escaped, with colours. The colours were put around pieces that had been
// escaped, so no text that others wrote can be one of them.
type Painted string

// canvas makes a Painted of pieces.
type canvas struct {
	text          strings.Builder
	coloured, raw bool
}

func (a *Session) canvas() *canvas { return &canvas{coloured: a.colours(), raw: a.raw()} }

// paint adds a piece in a colour; in none when that is empty, or nobody wants colours.
func (c *canvas) paint(in colour, text string) {
	if !c.raw {
		text = escaped(text)
	}
	if in == "" || !c.coloured {
		c.text.WriteString(text)
		return
	}
	c.text.WriteString(string(in) + text + string(plain))
}

func (c *canvas) painted() Painted { return Painted(c.text.String()) }

// Paint prints what was painted.
func (a *Session) Paint(text Painted) { a.Control("%s", text) }

// Control moves the cursor of a terminal.
func (a *Session) Control(format string, args ...any) {
	w := a.Out
	if s, ok := w.(*shown); ok {
		w = s.to
	}
	Say(w, format, args...)
}

// Package extent is how much objects are once they are written, in whatever form.
package extent

import "bytes"

// Extent is how much an object is, or several are together.
type Extent struct {
	Text   int64 // bytes in JSON
	Laid   int64 // bytes at most where each value, and each line and word of a deep text, has a line of its own behind its indentation
	Values int64 // items of lists, and entries of maps
	Maps   int64
}

// Plus is how much two are together.
func (e Extent) Plus(other Extent) Extent {
	return Extent{e.Text + other.Text, e.Laid + other.Laid, e.Values + other.Values, e.Maps + other.Maps}
}

// Or is the most that either is.
func (e Extent) Or(other Extent) Extent {
	return Extent{max(e.Text, other.Text), max(e.Laid, other.Laid), max(e.Values, other.Values), max(e.Maps, other.Maps)}
}

const (
	// indent is how far a value lies behind what holds it, in each form that is laid out.
	indent = 2
	// width is how long a line of YAML is before a text goes on in the next one.
	width = 80
	// escaped is what a sign takes at most that a form writes in another way.
	escaped = 6
)

// Of is how much an object is whose text in JSON this is.
func Of(text []byte) Extent {
	s := sum{Extent: Extent{Text: int64(len(text)), Laid: int64(len(text))}}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			s.Maps++
			s.begin()
		case '[':
			s.begin()
		case '}', ']':
			s.depth--
			s.line()
		case ',':
			s.value()
		case '"':
			end := EndOf(text, i)
			s.text(text[i:end])
			i = end
		}
	}
	return s.Extent
}

// sum is how much an object is up to some sign.
type sum struct {
	Extent
	depth int64
}

// line adds a line.
func (s *sum) line() { s.Laid += 1 + indent*max(s.depth, 0) }

// value adds a value on a line of its own.
func (s *sum) value() {
	s.Values++
	s.Laid++ // the space behind a key
	s.line()
}

// begin adds the first value of a map or a list. An empty one has none, and counts as if it had.
func (s *sum) begin() {
	s.depth++
	s.value()
}

// text adds what a text takes beside its bytes: its lines may be indented each, so may be what of it does not fit on a line, and some signs are escaped.
func (s *sum) text(text []byte) {
	lines, words := bytes.Count(text, []byte(`\n`)), bytes.Count(text, []byte(" "))
	before := indent * max(s.depth, 0)
	lines += min(words, len(text)/int(max(width-before, 1)))
	s.Laid += int64(lines) * before
	for _, sign := range []string{"<", ">", "&"} {
		s.Laid += int64(bytes.Count(text, []byte(sign))) * (escaped - 1)
	}
}

// EndOf is where the quote is that ends the text that begins at another.
func EndOf(text []byte, begin int) int {
	for i := begin + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

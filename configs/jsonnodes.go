package configs

import (
	"encoding/json"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// jsonNodes returns the nodes of a text that is one valid JSON value, with their lines and columns.
func jsonNodes(text []byte) *yaml.Node {
	s := jsonScanner{text: text, line: 1, column: 1}
	return s.value()
}

// jsonScanner walks over valid JSON.
type jsonScanner struct {
	text         []byte
	at           int
	line, column int
}

// skip goes over n bytes of the text.
func (s *jsonScanner) skip(n int) {
	for end := min(s.at+n, len(s.text)); s.at < end; {
		r, size := utf8.DecodeRune(s.text[s.at:])
		s.at += size
		s.column++
		if r == '\n' {
			s.line, s.column = s.line+1, 1
		}
	}
}

// next returns the first byte that is neither space nor punctuation between values; 0 at the end.
func (s *jsonScanner) next() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			s.skip(1)
		default:
			return c
		}
	}
	return 0
}

func (s *jsonScanner) value() *yaml.Node {
	c := s.next()
	n := &yaml.Node{Line: s.line, Column: s.column}
	switch c {
	case '{':
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		s.inside(n, '}')
	case '[':
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		s.inside(n, ']')
	case '"':
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!str", s.quoted()
	default:
		n.Kind, n.Tag = yaml.ScalarNode, "!!int" // a number or a word: nobody asks for its value
		s.skip(max(1, s.word()))
	}
	return n
}

// inside reads what stands before the closing byte.
func (s *jsonScanner) inside(n *yaml.Node, closing byte) {
	s.skip(1)
	for {
		switch s.next() {
		case closing:
			s.skip(1)
			return
		case 0:
			return
		}
		n.Content = append(n.Content, s.value())
	}
}

// quoted reads a string.
func (s *jsonScanner) quoted() string {
	end := s.at + 1
	for end < len(s.text) && s.text[end] != '"' {
		if s.text[end] == '\\' {
			end++
		}
		end++
	}
	raw := s.text[s.at:min(end+1, len(s.text))]
	s.skip(len(raw))
	var value string
	_ = json.Unmarshal(raw, &value) // the text was read as JSON before
	return value
}

// word is the length of a number, true, false or null.
func (s *jsonScanner) word() int {
	n := 0
	for ; s.at+n < len(s.text); n++ {
		switch s.text[s.at+n] {
		case ' ', '\t', '\r', '\n', ',', ':', ']', '}':
			return n
		}
	}
	return n
}

// jsonDuplicates lists the keys that stand twice in one map of the text.
func jsonDuplicates(d *Document) Problems {
	c := converter{source: d.Source, origin: d.origin}
	c.twice(d.origin.node(), "")
	return c.problems
}

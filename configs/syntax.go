package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"flotilla/core/strict"
)

// oneNode reads a text that is one YAML document, or says what keeps it from that and where in its file. The
// library stops behind the first document, whatever follows.
func oneNode(p part) (*yaml.Node, *Problem) {
	dec := yaml.NewDecoder(bytes.NewReader(p.text))
	root := &yaml.Node{}
	err := dec.Decode(root)
	if err == nil {
		err = dec.Decode(new(yaml.Node))
	}
	if errors.Is(err, io.EOF) {
		return root, nil
	}
	if err == nil {
		err = errors.New("more text follows the document")
	}
	problem := syntaxProblem(p, err, marksOf(dec))
	problem.Line += p.line - 1
	return nil, problem
}

// marks are where the library's scanner was when it found something wrong.
type marks struct {
	problem Position
	// began is where that which it was reading began, and context what it was, "while parsing a flow sequence".
	began   Position
	context string
}

// marksOf reads the marks that the library keeps to itself; what it says tells a line at most, and that one
// too low for half of the problems. Zero when they are not where they were.
func marksOf(dec *yaml.Decoder) (m marks) {
	field := func(of reflect.Value, names ...string) reflect.Value {
		for _, name := range names {
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			if of.Kind() != reflect.Struct {
				return reflect.Value{}
			}
			of = of.FieldByName(name)
		}
		return of
	}
	position := func(mark string) Position {
		line := field(reflect.ValueOf(dec), "parser", "parser", mark, "line")
		column := field(reflect.ValueOf(dec), "parser", "parser", mark, "column")
		if !line.CanInt() || !column.CanInt() {
			return Position{}
		}
		return Position{int(line.Int()) + 1, int(column.Int()) + 1}
	}
	m.problem, m.began = position("problem_mark"), position("context_mark")
	if context := field(reflect.ValueOf(dec), "parser", "parser", "context"); context.Kind() == reflect.String {
		m.context = context.String()
	}
	return m
}

var (
	libraryPrefix = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntaxProblem says what the library found wrong with a text.
func syntaxProblem(in part, err error, m marks) *Problem {
	prefix := libraryPrefix.FindStringSubmatch(err.Error())
	said := err.Error()[len(prefix[0]):]
	p := &Problem{Position: m.problem, Kind: strict.FaultSyntax, Text: "text that is not YAML: " + said, Expected: "YAML"}
	switch anchor := unknownAnchor.FindStringSubmatch(said); {
	case anchor != nil:
		p.Position, p.Text, p.Expected = positionOf(in.text, "*"+anchor[1]), "*"+anchor[1], "the name of an anchor, which stands before with & in front"
	case said == "could not find expected ':'", said == "found unexpected end of stream":
		p.Position = m.began
	case m.context != "" && m.began.Line != m.problem.Line:
		p.Text += fmt.Sprintf(" %s that began on line %d", m.context, m.began.Line+in.line-1)
	}
	if p.Line == 0 {
		p.Column = 1
		if p.Line, err = strconv.Atoi(prefix[1]); err != nil {
			p.Line = 1
		}
	}
	lines := bytes.Split(in.text, []byte("\n"))
	if p.Line > len(lines) {
		return p
	}
	line := lines[p.Line-1]
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	if tab := bytes.IndexByte(indent, '\t'); tab >= 0 {
		p.Column, p.Text, p.Expected = tab+1, "a tab", "spaces: YAML takes no tabs in front of a line"
	}
	return p
}

// positionOf finds the first place of some text.
func positionOf(text []byte, some string) Position {
	s := jsonScanner{text: text, line: 1, column: 1}
	s.skip(max(0, bytes.Index(text, []byte(some))))
	return Position{s.line, s.column}
}

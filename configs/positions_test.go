package configs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/strict"
)

// TestPositionsOfFields asks for the place of fields in every form that a file may have. A field that is
// marked with ^N^ in the text is expected where its mark stood.
func TestPositionsOfFields(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		paths []string // the marked fields, in the order of their numbers
	}{
		"block style":            {"a: 1\n^0^b:\n  ^1^c: {^2^d: 1}\n", []string{"b", "b.c", "b.c.d"}},
		"what is absent":         {"a: 1\n^0^b:\n  c: 1\n", []string{"b.x.y[3]"}},
		"nothing there at all":   {"^0^a: 1\n", []string{"x.y"}},
		"the document":           {"# head\n^0^a: 1\n", []string{""}},
		"items":                  {"a:\n- ^0^x: 1\n- [^1^p, ^2^q]\n", []string{"a[0]", "a[1][0]", "a[1][1]"}},
		"a lone item for a list": {"a:\n  ^0^x: {^1^y: 1}\n", []string{"a[0].x", "a[0].x.y"}},
		"a list for an item":     {"a:\n- ^0^x: 1\n", []string{"a.x"}},
		"odd keys":               {"a:\n  ^0^example.com/b: 1\n  ^1^\"x y\": {^2^\"\": 1}\n", []string{`a["example.com/b"]`, `a["x y"]`, `a["x y"][""]`}},
		"letters beyond ASCII":   {"a: {ü: 1, ^0^ö: 1}\n", []string{`a["ö"]`}},
		"windows line ends":      {"a: 1\r\n# note\r\n^0^b:\r\n  ^1^c: 1\r\n", []string{"b", "b.c"}},
		"tabs after values":      {"a:\t1\nb: {\t^0^c: 1}\n", []string{"b.c"}},
		"behind a marker":        {"# first\n---\n--- {^0^a: 1}\n", []string{"a"}},
		"a later document":       {"x: 1\n---\n# note\na: 1\n^0^b: 1\n", []string{"b"}},
		"an anchor":              {"base: &b {^0^x: 1}\n^1^use: *b\n", []string{"use.x", "use"}},
		"a merge":                {"base: &b {^0^x: 1, y: 1}\nuse: {<<: *b, ^1^y: 2}\n", []string{"use.x", "use.y"}},
		"a merge of two":         {"a: &a {x: 1}\nb: &b {^0^y: 1}\nuse: {<<: [*a, *b]}\n", []string{"use.y"}},
		"a name nearly right":    {"spec:\n  ^0^stratgy: {^1^type: x}\n", []string{"spec.stratgy", "spec.strategy.type"}},
		"JSON":                   {"{\"a\": {\n\t^0^\"b\": [1, ^1^{\"c\": \"\\\"}{\", ^2^\"d\": -1.5e3}]}}", []string{"a.b", "a.b[1]", "a.b[1].d"}},
		"JSON in a row":          {"{\"x\": 1} {\"a\": true, ^0^\"ü\": null,\n ^1^\"b\": 1}", []string{`["ü"]`, "b"}},
		"an item of a list":      {"kind: List\nitems:\n- kind: A\n- ^0^kind: B\n  ^1^spec: {^2^x: 1}\n", []string{"", "spec", "spec.x"}},
		"an item of a list within a list": {
			"{\"kind\": \"List\", \"items\": [{\"kind\": \"AList\", \"items\": [{}, ^0^{^1^\"x\": 1}]}]}", []string{"", "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, marks := unmark(c.text)
			docs, err := Parse("f", []byte(text))
			require.NoError(t, err)
			require.Len(t, marks, len(c.paths))
			last := docs[len(docs)-1]
			for i, path := range c.paths {
				require.Equal(t, marks[i], last.Position(path), path)
			}
		})
	}
}

// unmark takes the marks out of a text and returns where they stood.
func unmark(text string) (string, []Position) {
	var marks []Position
	for i := 0; ; i++ {
		before, after, found := strings.Cut(text, fmt.Sprintf("^%d^", i))
		if !found {
			return text, marks
		}
		line := strings.Count(before, "\n")
		column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
		marks = append(marks, Position{line + 1, column + 1})
		text = before + after
	}
}

func TestFaultsOfConfigurationFilesNameTheirLine(t *testing.T) {
	_, err := LoadHub("hub.yaml", []byte("fleet: default\nlisten:\n  host: 127.0.0.1\n  port: 70000\nlog: {level: loud, levl: x}\nfleet: other\n"))
	require.Equal(t, []string{
		`hub.yaml:5:20: log.levl: found an unknown field, expected one of level, format`,
		`hub.yaml:6:1: fleet: found the key a second time, first on line 1, expected each key once`,
		`hub.yaml:4:3: listen.port: found 70000, expected a number from 0 to 65535`,
		`hub.yaml:5:7: log.level: found "loud", expected one of trace, debug, info, warn, error`,
	}, strings.Split(err.Error(), "\n"))
	_, err = LoadAgent("", []byte("member: Berlin\n"))
	require.ErrorContains(t, err, `member: found "Berlin"`)
	var faults strict.Faults
	require.ErrorAs(t, err, &faults)
}

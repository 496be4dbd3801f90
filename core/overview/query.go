package overview

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"flotilla/core/strict"
)

// Bounds of a query.
const (
	maxQuery = 500 // bytes
	maxTerms = 20
)

// Query is a parsed query: all its terms have to hold. The zero value is held by every member.
type Query struct{ terms []term }

// term is one thing that is asked of a member.
type term struct {
	not bool
	// field is one of the fields, "label", or empty for a text; key is that of a label.
	field, key string
	// values are those of which one has to hold, in lower case; none asks of a label only that it is there.
	values []string
}

// fields are what a query may compare by field=value.
var fields = []string{"name", "region", "sign", "state", "version", "zone"}

// ParseQuery reads a query: terms between spaces, of which all have to hold. A term is a text that the name, region, zone,
// version or message contains (web); field=value or field=a,b of name, region, sign, state, version or zone (state=NotReady,Cordoned, version=1.31,
// region= for none); or label:key and label:key=value. A ! before a term turns it round, and quotes hold spaces
// together. Case does not count. Each fault says what was found and what was expected, with its column counted from 1.
func ParseQuery(text string) (Query, strict.Faults) {
	if len(text) > maxQuery {
		return Query{}, strict.Faults{{Path: "q", Found: fmt.Sprintf("%d bytes", len(text)), Expected: fmt.Sprintf("at most %d", maxQuery)}}
	}
	words, faults := split(text)
	var q Query
	for _, w := range words {
		t, fault := w.term()
		if fault != nil {
			fault.Path, fault.Column = "q", w.column
			faults = append(faults, *fault)
			continue
		}
		q.terms = append(q.terms, t)
	}
	if len(words) > maxTerms {
		faults = append(faults, strict.Fault{Path: "q", Found: fmt.Sprintf("%d terms", len(words)), Expected: fmt.Sprintf("at most %d", maxTerms)})
	}
	if len(faults) > 0 {
		return Query{}, faults
	}
	return q, nil
}

// word is a term as it was written: pieces of which those in quotes are taken as they are.
type word struct {
	column int
	pieces []piece
}

type piece struct {
	text   string
	quoted bool
}

// split cuts a text at spaces outside of quotes.
func split(text string) (words []word, faults strict.Faults) {
	var now *word
	add := func(at int, part string, quoted bool) {
		if now == nil {
			words = append(words, word{column: at + 1})
			now = &words[len(words)-1]
		}
		now.pieces = append(now.pieces, piece{part, quoted})
	}
	for at := 0; at < len(text); {
		end := strings.IndexFunc(text[at:], func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
		switch {
		case end < 0:
			add(at, text[at:], false)
			return words, faults
		case end > 0:
			add(at, text[at:at+end], false)
			at += end
		case text[at] == '"':
			quoted, _, closed := strings.Cut(text[at+1:], `"`)
			if !closed {
				return words, append(faults, strict.Fault{Path: "q", Column: at + 1, Found: `a quote " that nothing closes`, Expected: `another " behind it`})
			}
			add(at, quoted, true)
			at += len(quoted) + 2
		default:
			now = nil
			at += len(text[at:]) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
		}
	}
	return words, faults
}

// term reads what a word asks for.
func (w *word) term() (term, *strict.Fault) {
	var t term
	first := &w.pieces[0]
	if !first.quoted {
		first.text, t.not = strings.CutPrefix(first.text, "!")
	}
	name, value, compares := w.cut()
	key, isLabel := strings.CutPrefix(name, "label:")
	isLabel = isLabel && !first.quoted
	switch {
	case isLabel && key == "":
		return t, &strict.Fault{Found: "label: without a key", Expected: "label:key or label:key=value"}
	case isLabel:
		if t.field, t.key = "label", key; compares {
			t.values = alternatives(value)
		}
		return t, nil
	case compares:
		return fieldTerm(t, name, value)
	case name == "":
		return t, &strict.Fault{Found: "nothing", Expected: "a text, field=value or label:key=value"}
	}
	t.values = []string{strings.ToLower(name)}
	return t, nil
}

// cut cuts a word at the first = outside of quotes.
func (w *word) cut() (name, value string, found bool) {
	for _, p := range w.pieces {
		switch before, after, here := strings.Cut(p.text, "="); {
		case found:
			value += p.text
		case here && !p.quoted:
			name, value, found = name+before, after, true
		default:
			name += p.text
		}
	}
	return name, value, found
}

func fieldTerm(t term, field, value string) (term, *strict.Fault) {
	t.field, t.values = strings.ToLower(field), alternatives(value)
	if !slices.Contains(fields, t.field) {
		return t, &strict.Fault{Found: fmt.Sprintf("field %q", field), Expected: "one of " + strings.Join(fields, ", ") + ", or label:" + field + "=" + value}
	}
	known := map[string][]string{"state": stateWords, "sign": signWords()}[t.field]
	for _, v := range t.values {
		if known != nil && !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, v) }) {
			return t, &strict.Fault{Found: fmt.Sprintf("%s %q", t.field, v), Expected: "one of " + strings.Join(known, ", ")}
		}
	}
	return t, nil
}

func alternatives(text string) []string { return strings.Split(strings.ToLower(text), ",") }

package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"flotilla/core/strict"
)

// parseJSON reads a text that is one JSON object or several in a row; false when it is not JSON, so
// that it can be tried as YAML.
func parseJSON(source string, text []byte) ([]Document, bool) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, false
	}
	var docs []Document
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return docs, true
		}
		if err != nil || raw[0] != '{' {
			return nil, false
		}
		begin := int(dec.InputOffset()) - len(raw)
		line := 1 + bytes.Count(text[:begin], []byte("\n"))
		docs = append(docs, Document{
			Source: source, Index: len(docs) + 1, Line: line, JSON: raw,
			origin: &origin{text: raw, line: line, column: utf8.RuneCount(text[bytes.LastIndexByte(text[:begin], '\n')+1 : begin]), json: true},
		})
	}
}

// brokenJSON says what keeps a text that is meant as JSON from being read, nil when it is meant as YAML.
func brokenJSON(source string, text []byte) *Problem {
	inside, braced := bytes.CutPrefix(bytes.TrimSpace(text), []byte("{"))
	if inside = bytes.TrimSpace(inside); !braced || len(inside) == 0 || inside[0] != '"' {
		return nil
	}
	for _, part := range split(text) {
		if _, wrong := oneNode(part); wrong == nil {
			return nil
		}
	}
	var raw json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		err := dec.Decode(&raw)
		if err == nil {
			continue
		}
		at := int(dec.InputOffset())
		if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(wrong.Offset)
		}
		s := jsonScanner{text: text, line: 1, column: 1}
		s.skip(max(0, min(at, len(text))-1))
		found := err.Error()
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			s.skip(len(text))
			found = "it ends too early"
		}
		return &Problem{Source: source, Position: Position{s.line, s.column}, Kind: strict.FaultSyntax, Text: "text that is not JSON: " + found, Expected: "JSON, or YAML"}
	}
}

func flattenAll(docs []Document) ([]Document, error) {
	var out []Document
	var problems Problems
	for i := range docs {
		problems = append(problems, jsonDuplicates(&docs[i])...)
		items, wrong := flatten(docs[i])
		docs[i].origin.forget()
		out = append(out, items...)
		problems = append(problems, wrong...)
	}
	return out, problems.err()
}

// list is what a document says when it stands for several objects.
type list struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

// flatten returns the items of a list, or the document itself when it is none.
func flatten(d Document) ([]Document, Problems) {
	var head list
	if err := json.Unmarshal(d.JSON, &head); err != nil || head.Items == nil || !strings.HasSuffix(head.Kind, "List") {
		return []Document{d}, nil
	}
	var out []Document
	var problems Problems
	for i, raw := range head.Items {
		item := d
		item.within = append(slices.Clone(d.within), strict.Step{Name: "items", Index: -1}, strict.Step{Index: i})
		at := item.Position("")
		item.Line = at.Line
		named, found := withKind(raw, head)
		if found != "" {
			problems = append(problems, Problem{
				Source: d.Source, Position: at, Path: fmt.Sprintf("items[%d]", i), Kind: strict.FaultType, Text: found, Expected: "an object",
			})
			continue
		}
		item.JSON = named
		nested, wrong := flatten(item)
		out = append(out, nested...)
		problems = append(problems, wrong...)
	}
	return out, problems
}

// withKind gives an item of a typed list, "DeploymentList", the kind that the list implies; found is
// what stands there instead of an object.
func withKind(raw json.RawMessage, of list) (named json.RawMessage, found string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, string(raw[:min(len(raw), 20)])
	}
	kind := strings.TrimSuffix(of.Kind, "List")
	if fields["kind"] != nil || fields["apiVersion"] != nil || kind == "" {
		return raw, ""
	}
	head := fmt.Appendf(nil, "{%q:%q,%q:%q", "apiVersion", of.APIVersion, "kind", kind)
	if len(fields) > 0 {
		head = append(head, ',')
	}
	return append(head, bytes.TrimLeft(bytes.TrimSpace(raw)[1:], " \t\r\n")...), ""
}

package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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
		docs = append(docs, Document{Source: source, Index: len(docs) + 1, Line: line, JSON: raw})
	}
}

func flattenAll(docs []Document) ([]Document, error) {
	var out []Document
	var problems Problems
	for _, d := range docs {
		items, wrong := flatten(d, nil)
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

// flatten returns the items of a list, or the document itself when it is none. Lines gives the line
// of each item, where known.
func flatten(d Document, lines []int) ([]Document, Problems) {
	var head list
	if err := json.Unmarshal(d.JSON, &head); err != nil || head.Items == nil || !strings.HasSuffix(head.Kind, "List") {
		return []Document{d}, nil
	}
	var out []Document
	var problems Problems
	for i, raw := range head.Items {
		item := d
		if i < len(lines) {
			item.Line = lines[i]
		}
		named, err := withKind(raw, head)
		if err != nil {
			problems = append(problems, Problem{Source: d.Source, Index: d.Index, Line: item.Line, Text: fmt.Sprintf("items[%d]: %v", i, err)})
			continue
		}
		item.JSON = named
		nested, wrong := flatten(item, nil)
		out = append(out, nested...)
		problems = append(problems, wrong...)
	}
	return out, problems
}

// withKind gives an item of a typed list, "DeploymentList", the kind that the list implies.
func withKind(raw json.RawMessage, of list) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, errors.New("found " + string(raw[:min(len(raw), 20)]) + ", expected an object")
	}
	kind := strings.TrimSuffix(of.Kind, "List")
	if fields["kind"] != nil || fields["apiVersion"] != nil || kind == "" {
		return raw, nil
	}
	head := fmt.Appendf(nil, "{%q:%q,%q:%q", "apiVersion", of.APIVersion, "kind", kind)
	if len(fields) > 0 {
		head = append(head, ',')
	}
	return append(head, bytes.TrimLeft(bytes.TrimSpace(raw)[1:], " \t\r\n")...), nil
}

package render

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"flotilla/core/api"
	"flotilla/core/strict"
)

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// tokensOf splits a JSON pointer (RFC 6901).
func tokensOf(path string) []string {
	tokens := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range tokens {
		tokens[i] = unescape.Replace(tokens[i])
	}
	return tokens
}

// change is a node once one operation of RFC 6902 was done below it; at is where it stands. It changes what it is given.
func change(node any, tokens []string, at, op string, value any) (any, error) {
	switch n := node.(type) {
	case map[string]any:
		return changeMap(n, tokens, at, op, value)
	case []any:
		return changeList(n, tokens, at, op, value)
	}
	return nil, fmt.Errorf("%s is %s, expected a map or a list", place(at), shape(node))
}

func changeMap(held map[string]any, tokens []string, at, op string, value any) (any, error) {
	key := tokens[0]
	child, there := held[key]
	switch {
	case len(tokens) == 1 && op == api.PatchAdd:
		held[key] = value
		return held, nil
	case !there:
		return nil, fmt.Errorf("there is no %s in %s", strict.Quote(key), place(at))
	case len(tokens) == 1 && op == api.PatchReplace:
		held[key] = value
		return held, nil
	case len(tokens) == 1:
		delete(held, key)
		return held, nil
	}
	next, err := change(child, tokens[1:], at+"/"+key, op, value)
	if err == nil {
		held[key] = next
	}
	return held, err
}

func changeList(held []any, tokens []string, at, op string, value any) (any, error) {
	last := len(tokens) == 1
	most := len(held) - 1
	if last && op == api.PatchAdd {
		most = len(held)
	}
	i, err := place(at).index(tokens[0], most, last && op == api.PatchAdd)
	if err != nil {
		return nil, err
	}
	switch {
	case last && op == api.PatchAdd:
		return slices.Insert(held, i, value), nil
	case last && op == api.PatchRemove:
		return slices.Delete(held, i, i+1), nil
	case last:
		held[i] = value
		return held, nil
	}
	next, err := change(held[i], tokens[1:], at+"/"+tokens[0], op, value)
	if err == nil {
		held[i] = next
	}
	return held, err
}

// place is where a node stands in an object, as people read it.
type place string

func (p place) String() string {
	if p == "" {
		return "the object"
	}
	return string(p)
}

// index reads the place of an item in a list, 0 to most; "-" is behind the last one, where one may be added.
func (p place) index(token string, most int, adding bool) (int, error) {
	if token == "-" && adding {
		return most, nil
	}
	i, err := strconv.Atoi(token)
	switch {
	case err != nil || strconv.Itoa(i) != token || i < 0:
		return 0, fmt.Errorf("%s is a list, found %s, expected the number of an item", p, strict.Quote(token))
	case most < 0:
		return 0, fmt.Errorf("%s is an empty list", p)
	case i > most:
		return 0, fmt.Errorf("%s has no item %d, the last is %d", p, i, most)
	}
	return i, nil
}

// shape says in words what a node is, and nothing of what it says.
func shape(node any) string {
	switch node.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "a number"
}

// variablesOf are the keys of labels that a text asks for, sorted, and whether it asks for the name of the member.
func variablesOf(text string) (keys []string, named bool) {
	for _, rest := range strings.Split(text, api.VariableLabel)[1:] {
		key, _, _ := strings.Cut(rest, api.VariableEnd)
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return slices.Compact(keys), strings.Contains(text, api.VariableName)
}

// filled is a copy of a value with variables replaced in its texts and keys.
func filled(value any, m *api.Member) (any, error) {
	switch v := value.(type) {
	case string:
		return filledText(v, m)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = filled(v[i], m); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			name, err := filledText(key, m)
			if err != nil {
				return nil, err
			}
			if out[name], err = filled(inner, m); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}

func filledText(text string, m *api.Member) (string, error) {
	parts := strings.Split(text, api.VariableLabel)
	var out strings.Builder
	out.WriteString(strings.ReplaceAll(parts[0], api.VariableName, m.Name))
	for _, rest := range parts[1:] {
		key, after, ends := strings.Cut(rest, api.VariableEnd)
		if !ends {
			return "", errors.New("a variable " + api.VariableLabel + "… does not end with " + strict.Quote(api.VariableEnd))
		}
		value, labelled := m.Labels[key]
		if !labelled {
			return "", fmt.Errorf("%s has no label %s", m.Name, strict.Quote(key))
		}
		out.WriteString(value + strings.ReplaceAll(after, api.VariableName, m.Name))
	}
	return out.String(), nil
}

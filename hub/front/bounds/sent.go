// Package bounds is how much requests to the Kubernetes API may take: what is sent is counted before it is decoded, what definitions fill in
// before it is filled in, and answers have their time to be taken.
package bounds

import (
	"bytes"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// MostValues is how many values a request may have.
const MostValues = 100_000

// mostDepth is how deeply they may nest.
const mostDepth = 128

// Counts are how many values something has that was sent, and how many of them are items of lists in JSON; rough ones are as many as there
// may be, of YAML.
type Counts struct {
	Values, Items int
	Rough         bool
}

// protobufBegin is what every object in protobuf begins with, and nothing else that can be read.
const protobufBegin = "k8s\x00"

// Count counts the values of a text that is of a kind, or finds that they are too many, without decoding it. The text says what it is
// written in: readers of media types do not agree on how these are spelled.
func Count(text []byte, of schema.GroupVersionKind) (c Counts, err error) {
	switch {
	case bytes.HasPrefix(text, []byte(protobufBegin)):
		err = c.protobuf(text, of)
	case json.Valid(text):
		err = c.json(text)
	default:
		err = c.yaml(text)
	}
	return c, err
}

// add counts one value more.
func (c *Counts) add() error {
	if c.Values++; c.Values > MostValues {
		return TooLarge("found more than %d values, expected at most so many", MostValues)
	}
	return nil
}

// TooLarge is a refusal as the Kubernetes API gives it.
func TooLarge(format string, args ...any) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(format, args...))
}

func tooDeep() error {
	return TooLarge("found values that nest more than %d levels deep, expected at most so many", mostDepth)
}

// json counts the values of a text in JSON that is valid.
func (c *Counts) json(text []byte) error {
	var lists [mostDepth]bool
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			continue
		case '}', ']':
			depth--
			continue
		case '{', '[':
			if depth == mostDepth {
				return tooDeep()
			}
			lists[depth] = text[i] == '['
			depth++
		case ',':
		default:
			continue
		}
		if lists[depth-1] {
			c.Items++
		}
		if err := c.add(); err != nil {
			return err
		}
	}
	return nil
}

// yaml counts all signs of a text that may each begin a value, as what of it is text cannot be told. Such a text waits for all room that
// one person has. None of it may stand for another part.
func (c *Counts) yaml(text []byte) error {
	signs := 0
	for _, sign := range text {
		if bytes.IndexByte([]byte("\n,[{:-?*&"), sign) >= 0 {
			signs++
		}
	}
	if *c = (Counts{MostValues, MostValues, true}); signs > MostValues {
		return TooLarge("found %d signs in YAML that may each begin a value, expected at most %d: send it as JSON, where values are told from texts", signs, MostValues)
	}
	return aliased(text)
}

// shallow refuses a text in YAML whose values nest too deeply. It is decoded for that, as its reader alone knows what of it is text: whoever
// asks has room for what it becomes.
func shallow(text []byte) error {
	read, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil //nolint:nilerr // the decoder says so
	}
	return new(Counts).json(read)
}

// LongestList is how many items the longest list in a value has.
func LongestList(value any) (most int) {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			most = max(most, LongestList(inner))
		}
	case []any:
		most = len(v)
		for _, inner := range v {
			most = max(most, LongestList(inner))
		}
	}
	return most
}

package content

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"flotilla/core/api"
	"flotilla/core/envelope"
	"flotilla/core/seal"
)

// redactedDigits is how much of its digest stands in the place of a value.
const redactedDigits = 16

// withheld stands in the place of a digest that would tell whether a guess is right.
const withheld = "withheld"

// RedactedBegin is what every digest in the place of a value begins with; no base64 does.
const RedactedBegin = "digest:"

var redactedValue = regexp.MustCompile(`^` + RedactedBegin + `(?:[0-9a-f]{16}|` + withheld + `)$`)

// Redact puts digests in the place of the values of a Secret, of the Secrets in an envelope, of texts in a ConfigMap that
// are Secrets, and of what an override puts into Secrets. Equal values of equal names have equal digests, which nobody
// can compute without the keys.
func Redact(object map[string]any, keys *seal.Keyring) {
	eachValue(object, func(name string, value any) any { return redacted(name, value, keys) })
}

// Unredact puts the values of stored, which is the same object, in the place of their digests. It lists the paths of
// digests that are not of stored values, sorted: nobody can have meant them.
func Unredact(object, stored map[string]any, keys *seal.Keyring) (left []string) {
	held := map[string]any{}
	eachValue(stored, func(name string, value any) any {
		held[name] = value
		return value
	})
	eachValue(object, func(name string, value any) any {
		if text, isText := value.(string); !isText || !redactedValue.MatchString(text) {
			return value
		}
		if before, known := held[name]; known && redacted(name, before, keys) == value {
			return before
		}
		left = append(left, name)
		return value
	})
	slices.Sort(left)
	return left
}

// PlainValues lists the paths of the values of Secrets in an object that are no digests, sorted.
func PlainValues(object map[string]any) (paths []string) {
	eachValue(object, func(path string, value any) any {
		if text, isText := value.(string); !isText || !redactedValue.MatchString(text) {
			paths = append(paths, path)
		}
		return value
	})
	slices.Sort(paths)
	return paths
}

// redacted is what stands in the place of a value of a name.
func redacted(name string, value any, keys *seal.Keyring) any {
	text, err := json.Marshal([]any{"a value of a Secret", name, value})
	if err != nil {
		text = []byte(name) // no JSON: then it is nothing that was read
	}
	return RedactedBegin + keys.Digest(text)[:redactedDigits]
}

// values are those of Secrets in an object, and what becomes of them.
type values struct {
	change func(path string, value any) any
	texts  *envelope.Texts // for all texts of the object
	inside bool            // of a text in an envelope
}

// eachValue replaces the values of Secrets in an object by what change makes of them; their names are paths in object.
func eachValue(object map[string]any, change func(path string, value any) any) {
	(&values{change: change, texts: envelope.NewTexts()}).below(object, "")
}

func (v *values) below(object map[string]any, prefix string) {
	switch gk := groupKindOf(object); {
	case gk == groupKind{"", "Secret"}:
		v.of(object, prefix)
	case gk == groupKind{"", "ConfigMap"}:
		v.textsOf(object, prefix)
	case gk.group == api.GroupPlacement && placeable[gk.kind]:
		held, _ := object["data"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(held)) {
			if inner, isMap := held[name].(map[string]any); isMap {
				v.below(inner, prefix+"data."+name+".")
			}
		}
		v.keptText(object, prefix)
	case gk.group == api.GroupPlacement && overrides[gk.kind] != "":
		v.patchesOf(object, prefix)
		v.keptText(object, prefix)
	}
}

// of replaces the values of a Secret.
func (v *values) of(secret map[string]any, prefix string) {
	for _, field := range []string{"data", "stringData"} {
		switch held := secret[field].(type) {
		case nil:
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(held)) {
				held[name] = v.change(prefix+field+"."+name, held[name])
			}
		default:
			secret[field] = v.change(prefix+field, held)
		}
	}
	// What kubectl keeps of the last apply has the values once more.
	if annotations := annotationsOf(secret); annotations[lastApplied] != nil {
		annotations[lastApplied] = v.change(prefix+"metadata.annotations."+lastApplied, annotations[lastApplied])
	}
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func annotationsOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}

package content

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"flotilla/core/seal"
)

// UnredactHidden is Unredact for whoever may not see the values of Secrets: it puts them back only where they stay hidden. These are a Secret,
// and an object that is the stored one but for metadata and status. In every other it leaves all digests, and lists their paths.
func UnredactHidden(object, stored map[string]any, keys *seal.Keyring) (left []string) {
	given := runtime.DeepCopyJSON(object)
	if left = Unredact(object, stored, keys); len(left) == 0 && staysHidden(object, stored, keys) {
		return nil
	}
	clear(object)
	maps.Copy(object, given)
	eachValue(object, func(path string, value any) any {
		if text, isText := value.(string); isText && redactedValue.MatchString(text) {
			left = append(left, path)
		}
		return value
	})
	slices.Sort(left)
	return slices.Compact(left)
}

// staysHidden says that an object with values in the place of digests is shown as the stored one is, or is a Secret, of which no value is shown.
func staysHidden(whole, stored map[string]any, keys *seal.Keyring) bool {
	if groupKindOf(whole) == (groupKind{"", "Secret"}) {
		return true
	}
	shown, before := redactedCopy(whole, keys), redactedCopy(stored, keys)
	for _, object := range []map[string]any{shown, before} {
		delete(object, "metadata")
		delete(object, "status")
	}
	return reflect.DeepEqual(shown, before)
}

func redactedCopy(object map[string]any, keys *seal.Keyring) map[string]any {
	copied := runtime.DeepCopyJSON(object)
	Redact(copied, keys)
	return copied
}

// RedactGuesses is Redact for whoever may not see the values of Secrets and wrote to some places of an object, which was another before. A
// digest there would tell whether they wrote the value that stands in a Secret elsewhere, or stood here: they are shown digests only of
// values that were hidden before, at places that no path of written names, lies in or lies under.
func RedactGuesses(object, before map[string]any, written []string, keys *seal.Keyring) {
	known := map[string]bool{}
	eachValue(before, func(path string, value any) any {
		known[path] = true
		return value
	})
	eachValue(object, func(path string, value any) any {
		if !known[path] || slices.ContainsFunc(written, func(place string) bool { return within(path, place) || within(place, path) }) {
			return RedactedBegin + withheld
		}
		return redacted(path, value, keys)
	})
}

// within says that one path is another, or leads on from it.
func within(path, from string) bool {
	rest, begins := strings.CutPrefix(path, from)
	return begins && (rest == "" || rest[0] == '.')
}

// ValuesOf lists the paths of values of Secrets in an object that are no digests and that part of it holds too, sorted.
func ValuesOf(part, object map[string]any) []string {
	return slices.DeleteFunc(PlainValues(object), func(path string) bool { return !holds(part, path) })
}

// holds says that something stands in a tree at a path; keys may have dots and brackets in them.
func holds(tree any, path string) bool {
	leads := func(step string, inner any) bool {
		rest, begins := strings.CutPrefix(path, step)
		return begins && (rest == "" || rest[0] == '.' && holds(inner, rest[1:]) || rest[0] == '[' && holds(inner, rest))
	}
	switch node := tree.(type) {
	case map[string]any:
		for key, inner := range node {
			if leads(key, inner) {
				return true
			}
		}
	case []any:
		for i, inner := range node {
			if leads(fmt.Sprintf("[%d]", i), inner) {
				return true
			}
		}
	}
	return false
}

// Hide is Redact for an override that is followed to show what becomes of objects: a map keeps its keys, so that what follows finds them.
func Hide(override map[string]any, keys *seal.Keyring) {
	eachValue(override, func(name string, value any) any { return hidden(name, value, keys) })
}

func hidden(name string, value any, keys *seal.Keyring) any {
	held, isMap := value.(map[string]any)
	if !isMap {
		return redacted(name, value, keys)
	}
	out := make(map[string]any, len(held))
	for key, inner := range held {
		out[key] = hidden(name+"."+key, inner, keys)
	}
	return out
}

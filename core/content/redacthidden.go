package content

import (
	"maps"
	"reflect"
	"slices"

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

package show

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"

	"flotilla/core/strict"
	"flotilla/hub/flotilla/cli/session"
)

// RelaxedPath accepts x.y, .x.y and {.x.y}, as kubectl does for --sort-by and custom columns.
func RelaxedPath(path string) string {
	path = strings.TrimSpace(path)
	if strings.HasPrefix(path, "{") {
		return path
	}
	return "{." + strings.TrimPrefix(path, ".") + "}"
}

// sortObjects orders objects by the value at a JSONPath: numbers and quantities by size, all else as
// text. Objects without the value come first, as with kubectl. Without a path the order stays.
func sortObjects(objects []*unstructured.Unstructured, path string) error {
	if path == "" {
		return nil
	}
	p, err := printers.NewJSONPathPrinter(RelaxedPath(path))
	if err != nil {
		return session.Usagef("--sort-by %q: %v", path, err)
	}
	p.AllowMissingKeys(true)
	keys := make(map[*unstructured.Unstructured]any, len(objects))
	found := false
	for _, obj := range objects {
		values, err := p.FindResults(obj.Object)
		if err != nil {
			return session.Usagef("--sort-by %q: %v", path, err)
		}
		if len(values) > 0 && len(values[0]) > 0 {
			keys[obj] = plainValue(values[0][0])
			found = true
		}
	}
	if len(objects) > 0 && !found {
		return session.Usagef("--sort-by %q: no object has such a field", path)
	}
	slices.SortStableFunc(objects, func(x, y *unstructured.Unstructured) int { return compareValues(keys[x], keys[y]) })
	return nil
}

func plainValue(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

func compareValues(x, y any) int {
	if x == nil || y == nil {
		return cmp.Compare(session.BoolInt(x != nil), session.BoolInt(y != nil))
	}
	sx, sy := fmt.Sprint(x), fmt.Sprint(y)
	qx, errX := strict.ParseQuantity(sx)
	qy, errY := strict.ParseQuantity(sy)
	if errX == nil && errY == nil {
		return qx.Cmp(qy)
	}
	return strings.Compare(sx, sy)
}

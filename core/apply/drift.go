package apply

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/strict"
)

// maxDrifts bounds what Drifts lists of one object, as KubeFleet does.
const maxDrifts = 100

// Drifts lists, sorted, the JSON pointers at which a live object differs from what is wanted of it.
// It is KubeFleet's partial comparison: fields that the manifest does not mention do not count, nor
// do status, names, and labels and annotations of Kubernetes and of fleet managers. Numbers and
// quantities are compared by value, absent and empty are equal; the data of a ConfigMap or a Secret is
// compared to the letter. A list must match in length and order.
func Drifts(wanted, live *unstructured.Unstructured) []string {
	return (&comparison{}).objects(wanted, live)
}

// Beyond lists what Drifts does, and the fields of the live object that wanted does not have: KubeFleet's full
// comparison.
func Beyond(wanted, live *unstructured.Unstructured) []string {
	return (&comparison{full: true}).objects(wanted, live)
}

// comparison gathers where two objects differ.
type comparison struct {
	path  []string // to where it is
	found []string
	full  bool // what only the second has counts, too
}

func (c *comparison) objects(wanted, live *unstructured.Unstructured) []string {
	text := holdsData(wanted)
	for key, value := range wanted.Object {
		switch key {
		case "apiVersion", "kind", "status", "metadata":
		case "data", "stringData":
			if !text {
				c.value(key, value, live.Object[key])
			}
		default:
			c.value(key, value, live.Object[key])
		}
	}
	if text {
		c.letters("data", dataOf(wanted), live.Object["data"])
	}
	if c.full {
		for key, value := range live.Object {
			if _, mentioned := wanted.Object[key]; !mentioned && (!text || key != "data") && key != "status" && key != "metadata" {
				c.value(key, nil, value)
			}
		}
	}
	c.path = append(c.path, "metadata")
	for _, kind := range []string{"labels", "annotations"} {
		c.marks(kind, marksOf(wanted, kind), marksOf(live, kind))
	}
	slices.Sort(c.found)
	if len(c.found) > maxDrifts {
		c.found = c.found[:maxDrifts]
	}
	return c.found
}

// differs notes the place that segments lead to from where the comparison is.
func (c *comparison) differs(segments ...string) {
	var b strings.Builder
	for _, segment := range slices.Concat(c.path, segments) {
		b.WriteString("/" + escape(segment))
	}
	c.found = append(c.found, b.String())
}

// holdsData says that an object's data is text of its users, not of Kubernetes.
func holdsData(object *unstructured.Unstructured) bool {
	return object.GetAPIVersion() == "v1" && (object.GetKind() == "ConfigMap" || object.GetKind() == "Secret")
}

// dataOf is the data of a ConfigMap or a Secret as the member stores it: the stringData of a Secret is
// encoded into it.
func dataOf(object *unstructured.Unstructured) map[string]any {
	data, _ := object.Object["data"].(map[string]any)
	given, _ := object.Object["stringData"].(map[string]any)
	if len(given) == 0 {
		return data
	}
	out := map[string]any{}
	maps.Copy(out, data)
	for key, value := range given {
		out[key] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(value)))
	}
	return out
}

// letters compares two maps of text.
func (c *comparison) letters(at string, wanted map[string]any, live any) {
	have, _ := live.(map[string]any)
	if len(have) == 0 && len(wanted) > 0 {
		c.differs(at)
		return
	}
	for key, value := range wanted {
		if got, ok := have[key]; !ok || !alike(got, value) {
			c.differs(at, key)
		}
	}
	if c.full {
		for key := range have {
			if _, mentioned := wanted[key]; !mentioned {
				c.differs(at, key)
			}
		}
	}
}

// alike compares what is text, and need not be: whoever wrote it may have put anything there.
func alike(a, b any) bool {
	if text, is := a.(string); is {
		other, is := b.(string)
		return is && text == other
	}
	return reflect.DeepEqual(a, b)
}

func (c *comparison) marks(at string, wanted, live map[string]any) {
	for key, value := range wanted {
		if got, ok := live[key]; (!ok || !alike(got, value)) && !ignoredMark(key) {
			c.differs(at, key)
		}
	}
	if c.full {
		for key := range live {
			if _, mentioned := wanted[key]; !mentioned && !ignoredMark(key) {
				c.differs(at, key)
			}
		}
	}
}

func ignoredMark(key string) bool {
	for _, domain := range []string{"kubernetes.io/", "k8s.io/", "kubernetes-fleet.io/", "flotilla.io/"} {
		if strings.Contains(key, domain) {
			return true
		}
	}
	return false
}

// value compares what lies at a key of where the comparison is.
func (c *comparison) value(at string, wanted, live any) {
	c.path = append(c.path, at)
	switch want := wanted.(type) {
	case map[string]any:
		c.object(want, live)
	case []any:
		c.list(want, live)
	default:
		if !sameScalar(wanted, live) {
			c.differs()
		}
	}
	c.path = c.path[:len(c.path)-1]
}

func (c *comparison) object(wanted map[string]any, live any) {
	have, ok := live.(map[string]any)
	if !ok {
		if len(wanted) > 0 || live != nil {
			c.differs()
		}
		return
	}
	for key, value := range wanted {
		c.value(key, value, have[key])
	}
	if c.full {
		for key, value := range have {
			if _, mentioned := wanted[key]; !mentioned {
				c.value(key, nil, value)
			}
		}
	}
}

func (c *comparison) list(wanted []any, live any) {
	have, _ := live.([]any)
	if len(have) != len(wanted) {
		c.differs()
		return
	}
	for i := range wanted {
		c.value(strconv.Itoa(i), wanted[i], have[i])
	}
}

// sameScalar compares two leaves. Kubernetes stores some numbers as strings and rewrites quantities
// ("1000m" becomes "1"), so what reads as an equal quantity is equal.
func sameScalar(wanted, live any) bool {
	if wanted == live {
		return true
	}
	if live == nil {
		return wanted == nil || wanted == "" || wanted == false
	}
	if wanted == nil {
		return false
	}
	want, ok := quantity(wanted)
	if !ok {
		return false
	}
	have, ok := quantity(live)
	return ok && want.Cmp(have) == 0
}

func quantity(v any) (resource.Quantity, bool) {
	switch v.(type) {
	case string, int64, float64:
	default:
		return resource.Quantity{}, false
	}
	q, err := strict.ParseQuantity(fmt.Sprint(v))
	return q, err == nil
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// escape writes one segment of a JSON pointer.
func escape(segment string) string { return pointerEscaper.Replace(segment) }

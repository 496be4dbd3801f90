package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
)

const fieldState = "status.state"

// selectableFields are those that --field-selector knows.
var selectableFields = []string{"metadata.name", "metadata.namespace", fieldState}

// FieldFlag adds --field-selector, which narrows a selection.
func FieldFlag(flags *pflag.FlagSet, s *resource.Selection) {
	s.Chooses = chosenFields
	flags.StringVar(&s.Fields, "field-selector", "", "objects of the type with these fields: "+strings.Join(selectableFields, ", ")+"; status.state is what the column STATE shows")
}

// chosenFields reads a field selector, "status.state!=Ready,metadata.name=oslo", for objects of a kind.
func chosenFields(selector, kind string) (func(*unstructured.Unstructured) bool, error) {
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		return nil, session.Usagef("--field-selector: found %q, expected something like status.state!=Ready: %v", selector, err)
	}
	stateful := false
	state := slices.IndexFunc(ColumnsOf(kind, &unstructured.Unstructured{}, time.Time{}), func(c Column) bool { return c.Name == "State" })
	for _, r := range parsed.Requirements() {
		if !slices.Contains(selectableFields, r.Field) {
			return nil, session.Usagef("--field-selector: found field %q, expected %s%s", r.Field, strings.Join(selectableFields, ", "), session.Meant(session.Nearest(r.Field, selectableFields)))
		}
		if stateful = stateful || r.Field == fieldState; stateful && state < 0 {
			return nil, session.Usagef("--field-selector: a %s has no state", kind)
		}
	}
	return func(obj *unstructured.Unstructured) bool {
		set := fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
		if stateful {
			shown := fmt.Sprint(ColumnsOf(kind, obj, time.Time{})[state].cell)
			set[fieldState], _, _ = strings.Cut(shown, ",") // what follows are marks, "Ready,Cordoned"
		}
		return parsed.Matches(set)
	}, nil
}

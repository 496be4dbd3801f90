// Package fields keeps who else than the agent wrote which fields in the managed fields of an object, as an API server
// does, but for lists: who writes to one owns all of it. What nobody else wrote is the agent's, and goes with its
// manifest.
package fields

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/core/apply"
)

// set is a tree of fields: one without any below it is owned itself.
type set map[string]set

// unmanaged are parts of an object that are nobody's.
var unmanaged = map[string][]string{
	"":         {"apiVersion", "kind", "status", "metadata"},
	"metadata": {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "deletionTimestamp"},
}

// content is what of an object can be managed: all but what names it, and what the member itself writes.
func content(object *unstructured.Unstructured) map[string]any {
	kept := maps.Clone(object.Object)
	metadata, _ := kept["metadata"].(map[string]any)
	for _, field := range unmanaged[""] {
		delete(kept, field)
	}
	if metadata = maps.Clone(metadata); metadata != nil {
		for _, field := range unmanaged["metadata"] {
			delete(metadata, field)
		}
		kept["metadata"] = metadata
	}
	if len(metadata) == 0 {
		delete(kept, "metadata")
	}
	return kept
}

// changed is the fields that after has otherwise than before.
func changed(before, after map[string]any) set {
	fields := set{}
	for name, value := range after {
		old, had := before[name]
		inner, is := value.(map[string]any)
		within, was := old.(map[string]any)
		switch {
		case is && (was || !had) && len(inner) > 0:
			if beneath := changed(within, inner); len(beneath) > 0 {
				fields[name] = beneath
			}
		case !had || !reflect.DeepEqual(old, value):
			fields[name] = set{}
		}
	}
	return fields
}

// join is the fields of both.
func (s set) join(other set) set {
	all := set{}
	maps.Copy(all, s)
	for name, beneath := range other {
		if had, known := all[name]; known && len(had) > 0 && len(beneath) > 0 {
			beneath = had.join(beneath)
		}
		all[name] = beneath
	}
	return all
}

// text is a set as managed fields have it.
func (s set) text() map[string]any {
	fields := map[string]any{}
	for name, beneath := range s {
		fields["f:"+name] = beneath.text()
	}
	return fields
}

func setOf(fields map[string]any) set {
	s := set{}
	for name, beneath := range fields {
		inner, _ := beneath.(map[string]any)
		s[strings.TrimPrefix(name, "f:")] = setOf(inner)
	}
	return s
}

// managersOf are the others that wrote fields of an object.
func managersOf(object *unstructured.Unstructured) map[string]set {
	others := map[string]set{}
	for _, entry := range object.GetManagedFields() {
		var fields map[string]any
		if entry.FieldsV1 != nil && json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil {
			others[entry.Manager] = setOf(fields)
		}
	}
	return others
}

func setManagers(object *unstructured.Unstructured, others map[string]set, now time.Time) {
	at := metav1.NewTime(now)
	var entries []metav1.ManagedFieldsEntry
	for _, name := range slices.Sorted(maps.Keys(others)) {
		raw, err := json.Marshal(others[name].text())
		if err != nil || len(others[name]) == 0 {
			continue
		}
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: name, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: object.GetAPIVersion(), Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
		})
	}
	object.SetManagedFields(entries)
}

// Note notes that a manager wrote, now, what after has otherwise than before, nil when there was none.
func Note(manager string, before, after *unstructured.Unstructured, now time.Time) {
	others := managersOf(after)
	had := map[string]any{}
	if before != nil {
		others, had = managersOf(before), content(before)
	}
	fields := changed(had, content(after))
	if len(fields) > 0 {
		for name, theirs := range others {
			others[name] = theirs.leave(fields)
		}
		others[manager] = others[manager].join(fields)
	}
	setManagers(after, others, now)
}

// leave is the set without the fields of another.
func (s set) leave(other set) set {
	left := set{}
	for name, beneath := range s {
		taken, is := other[name]
		switch {
		case !is:
			left[name] = beneath
		case len(taken) > 0 && len(beneath) > 0:
			if rest := beneath.leave(taken); len(rest) > 0 {
				left[name] = rest
			}
		}
	}
	return left
}

// Merge is an object as it is once the agent wrote it over a live one: what others own and it does not mention
// stays. What they own and it wants otherwise is a conflict, unless it is forced.
func Merge(w target.Write, live *unstructured.Unstructured, now time.Time) (*unstructured.Unstructured, error) {
	others := managersOf(live)
	if len(others) == 0 {
		return w.Object, nil
	}
	object := w.Object.DeepCopy()
	var causes []metav1.StatusCause
	for _, name := range slices.Sorted(maps.Keys(others)) {
		g := graft{manager: name, force: w.Force}
		others[name] = g.onto(object.Object, live.Object, others[name], "")
		causes = append(causes, g.causes...)
	}
	if len(causes) > 0 {
		ref := apply.RefOf(object)
		err := apierrors.NewConflict(target.GroupResource(ref), ref.Name, fmt.Errorf("apply failed with %d conflicts", len(causes)))
		err.ErrStatus.Details.Causes = causes
		return nil, err
	}
	setManagers(object, others, now)
	return object, nil
}

// graft brings fields of one manager from a live object onto what is to replace it.
type graft struct {
	manager string
	force   bool
	causes  []metav1.StatusCause
}

// onto returns the fields that the manager still owns then.
func (g *graft) onto(object, live map[string]any, owned set, at string) set {
	kept := set{}
	for _, name := range slices.Sorted(maps.Keys(owned)) {
		path, beneath := at+"."+name, owned[name]
		value, there := live[name]
		if !there {
			continue
		}
		wanted, mentioned := object[name]
		within, isMap := wanted.(map[string]any)
		inner, wasMap := value.(map[string]any)
		switch {
		case len(beneath) > 0 && wasMap && (isMap || !mentioned):
			if !isMap {
				within = map[string]any{}
			}
			if left := g.onto(within, inner, beneath, path); len(left) > 0 {
				object[name], kept[name] = within, left
			}
		case !mentioned || reflect.DeepEqual(wanted, value):
			object[name], kept[name] = value, beneath
		case !g.force:
			g.causes = append(g.causes, metav1.StatusCause{
				Type: metav1.CauseTypeFieldManagerConflict, Field: path, Message: fmt.Sprintf("conflict with %q", g.manager),
			})
		}
	}
	return kept
}

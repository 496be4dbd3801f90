package content

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// managedFields are the metadata fields that clients keep on objects for themselves, beside finalizers and what kubectl
// remembers.
var managedFields = []string{"managedFields", "ownerReferences"}

// Managed is what clients keep on an object for themselves: it says nothing of what the object is to be.
type Managed struct {
	// Metadata holds it as the metadata of the object does; nil where there is nothing.
	Metadata map[string]any
	// Finalizers hold up its deletion.
	Finalizers []string
}

// TakeManaged takes what clients keep for themselves out of an object, which is the caller's own. Finalizers that are no
// texts stay, for others to find fault with.
func TakeManaged(object map[string]any) *Managed {
	taken := &Managed{}
	metadata, _ := object["metadata"].(map[string]any)
	if finalizers, texts := textsIn(metadata["finalizers"]); texts {
		taken.Finalizers = finalizers
		delete(metadata, "finalizers")
	}
	for _, field := range managedFields {
		if value := metadata[field]; value != nil {
			taken.keep(field, value)
		}
		delete(metadata, field)
	}
	annotations := annotationsOf(object)
	if value := annotations[lastApplied]; value != nil {
		taken.keep("annotations", map[string]any{lastApplied: value})
	}
	dropKeys(metadata, "annotations", []string{lastApplied})
	return taken
}

func (m *Managed) keep(field string, value any) {
	if list, is := value.([]any); is && len(list) == 0 {
		return
	}
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	m.Metadata[field] = value
}

// textsIn are the texts of a list; nothing is a list of none.
func textsIn(value any) (texts []string, ok bool) {
	list, is := value.([]any)
	if value != nil && !is {
		return nil, false
	}
	for _, item := range list {
		text, is := item.(string)
		if !is {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

// Put puts it back into an object, in the place of what the object says of the same.
func (m *Managed) Put(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	if len(m.Finalizers) > 0 {
		list := make([]any, len(m.Finalizers))
		for i, name := range m.Finalizers {
			list[i] = name
		}
		metadata["finalizers"] = list
	}
	for field, value := range runtime.DeepCopyJSON(m.Metadata) {
		held, isMap := metadata[field].(map[string]any)
		if more, both := value.(map[string]any); isMap && both {
			for key := range more {
				held[key] = more[key]
			}
			continue
		}
		metadata[field] = value
	}
}

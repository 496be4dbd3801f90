package shelf

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// Item is one object as it is shown, and must not be changed.
type Item struct {
	// Object is nil where the text of the object alone is kept: Whole has it.
	Object *unstructured.Unstructured
	Key    string
	Number uint64 // its resourceVersion
	Spec   string // the version of its spec record
	Size   int    // of what the door said, in bytes

	Labels map[string]string

	uid    types.UID
	text   []byte            // where there is no Object
	digest [sha256.Size]byte // of what the door said
	weight int64             // in memory, with its Object
}

// keyOf orders the objects of a shelf.
func keyOf(u *unstructured.Unstructured) string { return u.GetNamespace() + "/" + u.GetName() }

// itemOf is an object as the door shows it; nil where it lies in the hub in a version that is not served, whose fields may be others.
func (k *Kind) itemOf(raw json.RawMessage, spec string) (key string, made *Item, err error) {
	u := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(raw, &u.Object); err != nil {
		return "", nil, fmt.Errorf("reading an object of the door: %w", err)
	}
	if key = keyOf(u); !k.Ours && u.GroupVersionKind() != k.GroupVersionKind {
		return key, nil, nil
	}
	u.SetGroupVersionKind(k.GroupVersionKind)
	if !k.Values { // it holds what was applied, as it was
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	}
	number, err := Numbered(u.GetResourceVersion())
	if err != nil {
		return "", nil, err
	}
	made = &Item{Object: u, Key: key, Spec: spec, Size: len(raw), Labels: u.GetLabels(), uid: u.GetUID(), digest: sha256.Sum256(raw), weight: weigh(u.Object)}
	made.renumber(number)
	return key, made, nil
}

// renumber gives an item that nobody else has another number.
func (i *Item) renumber(number uint64) {
	if i.Number = number; i.Object != nil {
		i.Object.SetResourceVersion(Printed(number))
	}
}

// at is the item with another number.
func (i *Item) at(number uint64) *Item {
	other := *i
	if i.Object != nil {
		other.Object = i.Object.DeepCopy()
	}
	other.renumber(number)
	return &other
}

// Whole is the item with its Object.
func (i *Item) Whole() *Item {
	if i.Object != nil {
		return i
	}
	whole := *i
	whole.text, whole.Object = nil, &unstructured.Unstructured{}
	if err := kjson.Unmarshal(i.text, &whole.Object.Object); err != nil {
		panic(fmt.Sprintf("reading the text that was made of %s: %v", i.Key, err))
	}
	whole.renumber(i.Number)
	return &whole
}

// lean is the item with its text alone.
func (i *Item) lean() *Item {
	if i.Object == nil {
		return i
	}
	text, err := json.Marshal(i.Object.Object)
	if err != nil {
		panic(fmt.Sprintf("writing %s, which was read: %v", i.Key, err))
	}
	lean := *i
	lean.Object, lean.text = nil, text
	return &lean
}

// Decoded is how much memory Whole takes, beside that of the item.
func (i *Item) Decoded() int64 {
	if i.Object != nil {
		return 0
	}
	return i.weight
}

// takes is how much memory the item takes.
func (i *Item) takes() int64 {
	if i.Object == nil {
		return leanBytes + int64(len(i.text))
	}
	return i.weight
}

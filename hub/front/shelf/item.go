package shelf

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/hub/front/extent"
)

// Item is one object as it is shown, and must not be changed.
type Item struct {
	// Object is nil where the text of the object alone is kept: Whole has it.
	Object *unstructured.Unstructured
	Key    string
	Number uint64        // its resourceVersion
	Spec   string        // the version of its spec record
	Extent extent.Extent // of what the door said
	Heading

	kind   *Kind
	text   []byte            // where there is no Object
	digest [sha256.Size]byte // of what the door said
	weight int64             // in memory, with its Object
}

// Heading is what is known of an object that was not decoded.
type Heading struct {
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	UID        types.UID         `json:"uid"`
	Generation int64             `json:"generation"`
	Created    metav1.Time       `json:"creationTimestamp"`
	Labels     map[string]string `json:"labels"`
}

// keyOf orders the objects of a shelf.
func keyOf(namespace, name string) string { return namespace + "/" + name }

// itemOf is the text of an object as the door shows it; nil where it lies in the hub in a version that is not served, whose fields may be
// others.
func (k *Kind) itemOf(raw json.RawMessage, spec string) (key string, made *Item, err error) {
	var u struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Heading
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := kjson.Unmarshal(raw, &u); err != nil {
		return "", nil, fmt.Errorf("reading an object of the door: %w", err)
	}
	key = keyOf(u.Metadata.Namespace, u.Metadata.Name)
	if version, kind := k.ToAPIVersionAndKind(); !k.Ours && (u.APIVersion != version || u.Kind != kind) {
		return key, nil, nil
	}
	number, err := Numbered(u.Metadata.ResourceVersion)
	if err != nil {
		return "", nil, err
	}
	return key, &Item{
		Key: key, Number: number, Spec: spec, Extent: extent.Of(raw), Heading: u.Metadata.Heading, kind: k, text: raw, digest: sha256.Sum256(raw), weight: weigh(raw),
	}, nil
}

// Digest tells what the door said of an object from all else that it said.
func (i *Item) Digest() [sha256.Size]byte { return i.digest }

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
		panic(fmt.Sprintf("reading the text of %s, which was read before: %v", i.Key, err))
	}
	whole.Object.SetGroupVersionKind(i.kind.GroupVersionKind)
	if !i.kind.Values { // it holds what was applied, as it was
		unstructured.RemoveNestedField(whole.Object.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
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

// Weight is how much memory the item takes with its Object, and at least that of its text.
func (i *Item) Weight() int64 { return max(i.Extent.Text, i.weight) }

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
		return leanBytes + i.labelBytes() + int64(len(i.text))
	}
	return i.labelBytes() + i.weight
}

package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// Owner names the placement that a live object belongs to. The uid tells a placement from another
// one that was deleted and made again under the same name.
type Owner struct {
	Placement string // key of the placement, "web" or "ns/web"
	UID       string
}

// String is the value of api.AnnotationOwner, "web/<uid>".
func (o Owner) String() string { return o.Placement + "/" + o.UID }

// ParseOwner reads what String wrote. It reports false for anything else.
func ParseOwner(s string) (Owner, bool) {
	cut := strings.LastIndexByte(s, '/')
	if cut <= 0 || cut == len(s)-1 {
		return Owner{}, false
	}
	return Owner{Placement: s[:cut], UID: s[cut+1:]}, true
}

// OwnerOf reads the owner of a live object. It reports false when no placement owns it.
func OwnerOf(object *unstructured.Unstructured) (Owner, bool) {
	text, _ := marksOf(object, "annotations")[api.AnnotationOwner].(string)
	return ParseOwner(text)
}

// DigestOf is the digest of the manifest that a live object was made from, empty when unknown.
func DigestOf(object *unstructured.Unstructured) string {
	digest, _ := marksOf(object, "annotations")[api.AnnotationDigest].(string)
	return digest
}

// marksOf are the labels or annotations of an object; they must not be changed.
func marksOf(object *unstructured.Unstructured, kind string) map[string]any {
	metadata, _ := object.Object["metadata"].(map[string]any)
	marks, _ := metadata[kind].(map[string]any)
	return marks
}

// RefOf names an object.
func RefOf(object *unstructured.Unstructured) api.ObjectRef {
	return api.ObjectRef{
		APIVersion: object.GetAPIVersion(),
		Kind:       object.GetKind(),
		Namespace:  object.GetNamespace(),
		Name:       object.GetName(),
	}
}

// Identity is what makes two references mean one object: versions of an API group are views of the
// same object, so the version is not part of it.
type Identity struct{ Group, Kind, Namespace, Name string }

// IdentityOf returns the identity of the object that ref names.
func IdentityOf(ref api.ObjectRef) Identity {
	return Identity{Group: group(ref.APIVersion), Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

func group(apiVersion string) string {
	name, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return name
}

// Stamped returns a copy of the object of a manifest that says whose it is and what it was made from.
func Stamped(m *Manifest, owner Owner) *unstructured.Unstructured {
	out := m.Object.DeepCopy()
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[api.AnnotationOwner] = owner.String()
	annotations[api.AnnotationDigest] = m.Digest
	out.SetAnnotations(annotations)
	return out
}

// unstamp returns a copy of a live object that no placement owns.
func unstamp(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := object.DeepCopy()
	annotations := out.GetAnnotations()
	delete(annotations, api.AnnotationOwner)
	delete(annotations, api.AnnotationDigest)
	if len(annotations) == 0 {
		annotations = nil
	}
	out.SetAnnotations(annotations)
	return out
}

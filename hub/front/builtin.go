package front

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// neverContent are kinds of Kubernetes that no hub holds: what runs on members, and what its own programs ask each other.
var neverContent = []string{
	"/Binding", "/ComponentStatus", "/Node", "coordination.k8s.io/Lease", "/Event", "events.k8s.io/Event", "storage.k8s.io/CSINode", "storage.k8s.io/VolumeAttachment",
	"discovery.k8s.io/EndpointSlice", "resource.k8s.io/ResourceSlice", "certificates.k8s.io/CertificateSigningRequest",
}

// builtIn are the kinds of Kubernetes that are served, each in its newest version that is no alpha or beta.
func builtIn() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for gvk := range scheme.Scheme.AllKnownTypes() {
		key := gvk.Group + "/" + gvk.Kind
		if _, known := api.KindNamespaced(gvk.Group, gvk.Kind); !known || slices.Contains(neverContent, key) || preview(gvk.Version) {
			continue
		}
		if newest(gvk) {
			all = append(all, gvk)
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// preview says that a version is alpha or beta.
func preview(version string) bool {
	return strings.Contains(version, "alpha") || strings.Contains(version, "beta")
}

// newest says that no stable version of a kind comes after this one.
func newest(gvk schema.GroupVersionKind) bool {
	for _, other := range scheme.Scheme.PrioritizedVersionsForGroup(gvk.Group) {
		if !preview(other.Version) && scheme.Scheme.Recognizes(other.WithKind(gvk.Kind)) && version.CompareKubeAwareVersionStrings(other.Version, gvk.Version) > 0 {
			return false
		}
	}
	return true
}

// typed is an empty object of a kind of Kubernetes, nil of any other.
func typed(gvk schema.GroupVersionKind) runtime.Object {
	made, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil
	}
	return made
}

// unknownFields are those of an object of a kind of Kubernetes that the kind has not. One with amounts beyond their bounds is not
// looked at: the door refuses it.
func unknownFields(u *unstructured.Unstructured) error {
	into := typed(u.GroupVersionKind())
	if into == nil || len(strict.Quantities(reflect.TypeOf(into).Elem(), u.Object)) > 0 {
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, into, true) //nolint:forbidigo // its amounts are within their bounds
}

package front

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"flotilla/core/api"
	"flotilla/core/validate"
)

// kind is one resource that is served, in one version.
type kind struct {
	schema.GroupVersionKind
	resource   string
	namespaced bool
	short      []string
	// ours says that Flotilla gives the kind a meaning; others are content.
	ours bool
	// structure is the struct of objects of Flotilla's kinds.
	structure reflect.Type
	// definition is set of kinds that are defined in the fleet.
	definition *definition
	// away says where objects of the kind are that no fleet has.
	away string
}

func (k *kind) groupVersionResource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.resource)
}

// verbs are those that objects of the kind have.
func (k *kind) verbs() metav1.Verbs {
	if k.away != "" { // whoever lists all that is listed leaves it out
		return metav1.Verbs{"get"}
	}
	return metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// kinds are those that are served, by resource.
type kinds struct {
	all        []*kind
	byResource map[schema.GroupVersionResource]*kind
}

// builtInKinds are the kinds of Flotilla and those of Kubernetes that may be content.
func builtInKinds() []*kind {
	var all []*kind
	for name, known := range validate.Kinds() {
		for _, version := range known.Versions() {
			gv, _ := schema.ParseGroupVersion(version)
			all = append(all, (&kind{GroupVersionKind: gv.WithKind(name), ours: true, structure: known.Type}).worded())
		}
	}
	for _, gvk := range append(builtIn(), untyped...) {
		all = append(all, (&kind{GroupVersionKind: gvk}).worded())
	}
	return all
}

// untyped are kinds that may be content and have no type in client-go.
var untyped = []schema.GroupVersionKind{
	{Group: api.GroupPlacement, Version: "v1beta1", Kind: api.KindResourceEnvelope},
	{Group: api.GroupPlacement, Version: "v1beta1", Kind: api.KindClusterResourceEnvelope},
	definitionKind,
}

// worded gives a kind the words that it is served under.
func (k *kind) worded() *kind {
	plural, _ := meta.UnsafeGuessKindToResource(k.GroupVersionKind)
	k.resource = plural.Resource
	k.namespaced, _ = api.KindNamespaced(k.Group, k.Kind)
	for i := range api.NamedKinds {
		words := &api.NamedKinds[i]
		if group, _ := api.SplitAPIVersion(words.APIVersion); words.Kind == k.Kind && group == k.Group {
			k.resource, k.short, k.namespaced = words.Plural, k.unlike(words.Short), words.Namespaced
		}
	}
	return k
}

func newKinds(all []*kind) *kinds {
	s := &kinds{all: all, byResource: map[schema.GroupVersionResource]*kind{}}
	for _, k := range all {
		s.byResource[k.groupVersionResource()] = k
	}
	return s
}

// unlike are the words that are not the kind's own.
func (k *kind) unlike(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == k.singular() || word == k.resource })
}

func (k *kind) singular() string { return strings.ToLower(k.Kind) }

func (k *kind) categories() []string {
	switch {
	case k.ours:
		return []string{"fleet"}
	case k.definition != nil:
		return k.definition.categories
	case slices.Contains(inAll, k.Kind):
		return []string{"all"}
	}
	return nil
}

// inAll are the kinds of `kubectl get all`.
var inAll = []string{"CronJob", "DaemonSet", "Deployment", "HorizontalPodAutoscaler", "Job", "Pod", "ReplicaSet", "ReplicationController", "Service", "StatefulSet"}

// columns are those of tables of the kind, between names and ages.
func (k *kind) columns() []column {
	if k.definition != nil {
		return k.definition.columns
	}
	return columns[k.Kind]
}

// types is how server-side apply merges objects of the kind.
func (k *kind) types() managedfields.TypeConverter {
	switch {
	case k.definition != nil:
		return k.definition.types
	case typed(k.GroupVersionKind) != nil:
		return builtInTypes
	}
	return managedfields.NewDeducedTypeConverter()
}

// tidy finds fields of an object that its kind has not; of kinds that are defined these are dropped.
func (k *kind) tidy(u *unstructured.Unstructured, strict bool) error {
	if k.definition != nil {
		err := k.definition.tidy(u)
		if !strict && runtime.IsStrictDecodingError(err) {
			return nil
		}
		return err
	}
	encodeWords(u) // before it is noted who set which field
	err := unknownFields(u)
	if !strict && runtime.IsStrictDecodingError(err) {
		return nil
	}
	return err
}

package kube

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/core/api"
)

// groupResource names a kind in errors where nothing else is known of it.
func groupResource(ref api.ObjectRef) schema.GroupResource {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return schema.GroupResource{Resource: strings.ToLower(ref.Kind)}
	}
	return schema.GroupResource{Group: version.Group, Resource: strings.ToLower(ref.Kind)}
}

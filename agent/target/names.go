package target

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/core/api"
)

// GroupResource is what errors call the kind of an object where nothing but its name is known of it: "deployments" of
// group "apps".
func GroupResource(ref api.ObjectRef) schema.GroupResource {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		version = schema.GroupVersion{Version: ref.APIVersion}
	}
	return schema.GroupResource{Group: version.Group, Resource: strings.ToLower(ref.Kind) + "s"}
}

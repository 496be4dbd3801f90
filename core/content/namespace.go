package content

import "flotilla/core/api"

// PutInNamespace gives the tree of an object the namespace that its kind asks for: of a namespaced kind without one
// "default", as everywhere in Kubernetes, and none of the others. It returns what people are to know of that, "" for nothing.
func PutInNamespace(tree map[string]any, ref api.ObjectRef) (note string) {
	metadata, _ := tree["metadata"].(map[string]any)
	inNamespace, known := api.KindNamespaced(GroupOf(ref.APIVersion), ref.Kind)
	switch {
	case !known:
	case inNamespace && ref.Namespace == "":
		if metadata != nil {
			metadata["namespace"] = "default"
		}
		return `put into namespace "default", which no placement selects: give metadata.namespace`
	case !inNamespace && ref.Namespace != "":
		delete(metadata, "namespace")
		return "metadata.namespace ignored: a " + ref.Kind + " lies outside namespaces"
	}
	return ""
}

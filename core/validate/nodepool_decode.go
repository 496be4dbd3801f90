package validate

import (
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// pool reads a NodePool.
func (r *reading) pool() {
	ignored := r.dropKubelet()
	reads(func(p *api.NodePool) (rules, []string) {
		notes := append(unreadAnnotations(p.Annotations, api.AnnotationMembers, api.AnnotationExpiration, api.AnnotationFleetBudget), nodePoolNotes(p)...)
		return validateNodePool(p).also(*emptyPoolTexts(r.tree).Findings), append(notes, ignored...)
	})(r)
}

// dropKubelet takes out of a v1beta1 pool the settings of the kubelet, which v1 moved to node classes, with a
// note.
func (r *reading) dropKubelet() []string {
	_, version := api.SplitAPIVersion(r.out.Object.APIVersion)
	spec := r.tree.Get("spec").Get("template").Get("spec")
	if version != "v1beta1" || spec.Get("kubelet") == nil {
		return nil
	}
	spec.Remove("kubelet")
	return []string{"spec.template.spec.kubelet is ignored: it belongs to the node class, as in karpenter.sh/v1"}
}

func instancesRules(c *api.InstanceCatalog) (rules, []string) {
	return validateCatalog(c), unreadAnnotations(c.Annotations, api.AnnotationMembers)
}

// unreadAnnotations remarks on annotations of our group that are not among those that are read.
func unreadAnnotations(annotations map[string]string, read ...string) []string {
	var notes []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if !strings.HasPrefix(key, api.GroupFlotilla+"/") || slices.Contains(read, key) {
			continue
		}
		note := "metadata.annotations: nothing reads " + key
		if near := strict.Nearest(key, read); near != "" {
			note += "; did you mean " + near + "?"
		}
		notes = append(notes, note)
	}
	return notes
}

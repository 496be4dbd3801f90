package validate

import (
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// pool reads a NodePool. Its status is left out unread: another system wrote it, or the hub.
func (r *reading) pool() {
	r.tree.Remove("status")
	ignored := r.dropKubelet()
	p := &api.NodePool{}
	r.strict(p)
	r.out.Pool = p
	r.check(validateNodePool(p).also(*emptyPoolTexts(r.tree).Findings))
	r.out.Notes = append(unreadAnnotations(p.Annotations, api.AnnotationMembers, api.AnnotationExpiration, api.AnnotationFleetBudget), nodePoolNotes(p)...)
	r.out.Notes = append(r.out.Notes, ignored...)
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

// instances reads an InstanceCatalog.
func (r *reading) instances() {
	r.tree.Remove("status")
	c := &api.InstanceCatalog{}
	r.strict(c)
	r.out.Instances = c
	r.check(validateCatalog(c))
	r.out.Notes = unreadAnnotations(c.Annotations, api.AnnotationMembers)
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

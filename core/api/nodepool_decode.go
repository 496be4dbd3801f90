package api

import (
	"maps"
	"slices"
	"strings"
)

// pool reads a NodePool. Its status is left out unread: another system wrote it, or the hub.
func (r *reading) pool() {
	r.tree.remove("status")
	ignored := r.dropKubelet()
	p := &NodePool{}
	r.strict(p)
	r.out.Pool = p
	r.check(validateNodePool(p).also(*emptyPoolTexts(r.tree).findings))
	r.out.Notes = append(unreadAnnotations(p.Annotations, AnnotationMembers, AnnotationExpiration, AnnotationFleetBudget), nodePoolNotes(p)...)
	r.out.Notes = append(r.out.Notes, ignored...)
}

// dropKubelet takes out of a v1beta1 pool the settings of the kubelet, which v1 moved to node classes, with a
// note.
func (r *reading) dropKubelet() []string {
	_, version := splitAPIVersion(r.out.Object.APIVersion)
	spec := r.tree.get("spec").get("template").get("spec")
	if version != "v1beta1" || spec.get("kubelet") == nil {
		return nil
	}
	spec.remove("kubelet")
	return []string{"spec.template.spec.kubelet is ignored: it belongs to the node class, as in karpenter.sh/v1"}
}

// instances reads an InstanceCatalog.
func (r *reading) instances() {
	r.tree.remove("status")
	c := &InstanceCatalog{}
	r.strict(c)
	r.out.Instances = c
	r.check(validateCatalog(c))
	r.out.Notes = unreadAnnotations(c.Annotations, AnnotationMembers)
}

// unreadAnnotations remarks on annotations of our group that are not among those that are read.
func unreadAnnotations(annotations map[string]string, read ...string) []string {
	var notes []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if !strings.HasPrefix(key, GroupFlotilla+"/") || slices.Contains(read, key) {
			continue
		}
		note := "metadata.annotations: nothing reads " + key
		if near := Nearest(key, read); near != "" {
			note += "; did you mean " + near + "?"
		}
		notes = append(notes, note)
	}
	return notes
}

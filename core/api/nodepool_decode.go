package api

import (
	"slices"
	"strings"
)

// pool reads a NodePool. Its status is left out unread: another system wrote it, or the hub.
func (r *reading) pool() {
	r.tree.remove("status")
	p := &NodePool{}
	r.strict(p)
	r.out.Pool = p
	r.check(validateNodePool(p))
	r.out.Notes = append(unreadAnnotations(p.Annotations, AnnotationMembers, AnnotationExpiration, AnnotationFleetBudget), nodePoolNotes(p)...)
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
	for _, key := range sortedKeys(annotations) {
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

package clusterapi

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// change is one write.
type change struct {
	what  string // what people call the object
	kind  schema.GroupVersionResource
	name  string
	patch map[string]any
}

// changeOf begins a change of the object as it was read.
func changeOf(o *metav1.ObjectMeta) map[string]any {
	return map[string]any{"metadata": map[string]any{"resourceVersion": o.ResourceVersion}}
}

// begin is what has to be written for a step, or what somebody else has done to it; neither while Cluster API works.
func (s *survey) begin(w *work, st *step) (*change, string) {
	if s.managed() && (st.pool == "" || s.called(st.pool)[0].managed) {
		return s.beginTopology(w)
	}
	switch {
	case reaches(st.version, st.to):
		return nil, ""
	case s.begun(w, st.what):
		return nil, undone(st.what, st.to, st.version)
	}
	spec := map[string]any{"version": spelled(st.to)}
	if st.pool != "" {
		spec = map[string]any{"template": map[string]any{"spec": spec}}
	}
	return st.object.of(w, spec, st.to)
}

// begun reports whether an operation wrote an object already.
func (s *survey) begun(w *work, what string) bool {
	return s.marks[what].Operation == w.op.ID || w.wrote[what]
}

// undone says that somebody has taken a version back.
func undone(what, to, is string) string {
	return fmt.Sprintf("the operation gave %s version %s, and now it is %s: somebody else changed it, and it is not changed again; "+
		"see who does, such as what keeps it in a repository, then start the run again", what, spelled(to), is)
}

// of is the change that writes a spec, and which operation gave it which version.
func (c change) of(w *work, spec map[string]any, version string) (*change, string) {
	text, err := json.Marshal(mark{Operation: w.op.ID, Version: spelled(version)})
	if err != nil {
		return nil, err.Error()
	}
	meta, _ := c.patch["metadata"].(map[string]any)
	meta["annotations"] = map[string]any{annotationUpgrade: string(text)}
	c.patch["spec"] = spec
	return &c, ""
}

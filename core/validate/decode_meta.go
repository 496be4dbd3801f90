package validate

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// serverSetMetadata are the fields of metadata that only the hub sets.
var serverSetMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generation",
	"managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
}

// lastApplied is kubectl's own memory of an object, stale anywhere else.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// serverSet lists what a document says that only the hub sets. It takes out managedFields and what
// kubectl remembers, which nothing reads.
func serverSet(tree *strict.Node) []string {
	var out []string
	meta := tree.Get("metadata")
	for _, name := range serverSetMetadata {
		if v := meta.Get(name); v != nil && v.Shape != strict.ShapeNull {
			out = append(out, "metadata."+name)
		}
	}
	if annotations := meta.Get("annotations"); annotations.Get(api.AnnotationSet) != nil {
		annotations.Remove(api.AnnotationSet)
		out = append(out, "metadata.annotations["+api.AnnotationSet+"]")
	}
	meta.Remove("managedFields")
	meta.Get("annotations").Remove(lastApplied)
	if tree.Get("status") != nil {
		out = append(out, "status")
	}
	return out
}

// DropServerSet takes out of a known kind what only the hub sets, metadata and status, and returns a
// note that names it, or "". ResourceVersion and UID of d stay, for those who compare them.
func (d *Decoded) DropServerSet() string {
	if m := As[api.MemberCluster](d); m != nil {
		m.Status = nil
	}
	if meta := d.Meta(); meta != nil {
		*meta = metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels, Annotations: meta.Annotations}
	}
	if len(d.serverSet) == 0 {
		return ""
	}
	return "ignored, because the hub sets it: " + strings.Join(d.serverSet, ", ")
}

// contentMeta is the part of content's metadata that Flotilla reads.
type contentMeta struct {
	Name         string            `json:"name,omitempty"`
	Namespace    string            `json:"namespace,omitempty"`
	GenerateName string            `json:"generateName,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

// content reads a document of any other kind: only what selecting and storing it needs is checked,
// the rest is for the members' own API servers to judge.
func (r *reading) content() {
	r.out.Body = r.raw
	r.object()
	r.envelope()
}

// object checks what is read of any object, in a document or in an envelope.
func (r *reading) object() {
	var at *strict.Place
	if list := r.tree.Get("items"); list != nil && strings.HasSuffix(r.out.Object.Kind, "List") {
		r.findings.Lose(at.Child("items"), list.String(), "one object a document; send the items of a list one by one")
		return
	}
	meta := &contentMeta{}
	w := strict.Decoder{Findings: r.findings}
	w.Decode(contentMetaTree(r.tree.Get("metadata")), meta, at.Child("metadata"))
	r.findings = w.Findings
	r.metadata()
	r.check(validateContent(r.out.Object, meta))
	r.check(contentQuantities(r.out.Object, r.raw))
}

// contentMetaTree keeps of metadata what contentMeta has.
func contentMetaTree(meta *strict.Node) *strict.Node {
	if meta == nil || meta.Shape == strict.ShapeNull {
		return &strict.Node{Shape: strict.ShapeMap}
	}
	if meta.Shape != strict.ShapeMap {
		return meta
	}
	out := &strict.Node{Shape: strict.ShapeMap}
	names := []string{"name", "namespace", "generateName", "labels", "annotations"}
	for i, key := range meta.Keys {
		if slices.Contains(names, key) {
			out.Set(key, meta.Values[i])
		}
	}
	return out
}

package validate

import (
	"cmp"
	"encoding/json"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/envelope"
	"flotilla/core/phrase"
	"flotilla/core/strict"
)

// envelopeKinds are content that members never see: they get what lies in it.
var envelopeKinds = []string{api.KindClusterResourceEnvelope, api.KindResourceEnvelope}

// isEnvelope reports whether the document is of a kind of envelopes.
func (r *reading) isEnvelope() bool {
	return envelope.FormOf(api.GroupPlacement+"/v1", r.out.Object.Kind, "") != envelope.None
}

// form is what kind of envelope the document is; an annotation that says neither yes nor no is a fault.
func (r *reading) form() envelope.Form {
	annotation := textAt(r.tree.Get("metadata").Get("annotations"), api.AnnotationEnvelope)
	form := envelope.FormOf(r.out.Object.APIVersion, r.out.Object.Kind, annotation)
	would := envelope.FormOf(r.out.Object.APIVersion, r.out.Object.Kind, "true")
	if form == envelope.None && would == envelope.Config && annotation != "" && annotation != "false" {
		var at *strict.Place
		r.findings.Add(at.In("metadata", "annotations", api.AnnotationEnvelope), strict.Quote(annotation), `"true" or "false"`, strict.TextNode("true"))
	}
	return form
}

// envelope holds what lies in an envelope to the rules of content, and to those of where it may lie.
func (r *reading) envelope() {
	form := r.form()
	if form == envelope.None {
		return
	}
	var document map[string]any
	if kjson.Unmarshal(r.tree.AppendJSON(nil), &document) != nil {
		return
	}
	at := (*strict.Place)(nil).Child("data")
	held, isMap := document["data"].(map[string]any)
	switch {
	case document["data"] != nil && !isMap:
		r.findings.Lose(at, r.tree.Get("data").String(), "a map of names to objects")
	case len(held) == 0:
		r.findings.Add(at, "nothing", fmt.Sprintf("1 to %d objects, each under a name", envelope.MaxItems), nil)
	case len(held) > envelope.MaxItems:
		r.findings.Add(at, fmt.Sprintf("a map of %d", len(held)), fmt.Sprintf("at most %d objects", envelope.MaxItems), nil)
	}
	r.onlyData(form)
	r.items(form, document, at)
}

// onlyData refuses what could hold objects too, and would not be looked at.
func (r *reading) onlyData(form envelope.Form) {
	other := "spec"
	if form == envelope.Config {
		other = "binaryData"
	}
	if held := r.tree.Get(other); held != nil && held.Shape != strict.ShapeNull {
		r.findings.Add((*strict.Place)(nil).Child(other), held.String(), "nothing: an envelope holds objects under data", nil)
	}
}

func (r *reading) items(form envelope.Form, document map[string]any, at *strict.Place) {
	var names []string
	first := map[api.ObjectRef]string{} // by group, whatever the version
	for _, item := range envelope.Open(document) {
		place := at.Child(item.Key)
		if item.Object == nil {
			r.findings.Lose(place, item.Found, envelope.Expected)
			continue
		}
		ref := r.item(form, item.Object, place)
		key := ref
		key.APIVersion, _ = api.SplitAPIVersion(ref.APIVersion)
		if before, twice := first[key]; twice && ref.Name != "" {
			r.findings = append(r.findings, strict.Finding{
				At: place, Found: ref.String() + " again", Expected: "each object once; " + at.Child(before).String() + " is it already", Kind: strict.FaultDuplicate,
			})
		}
		first[key] = item.Key
		names = append(names, ref.String())
	}
	r.out.Notes = append(r.out.Notes, fmt.Sprintf("an envelope: in its place members get what is in it, %s", phrase.Enumerate(names)))
}

// item reads one object in an envelope; what is wrong with it stands at place.
func (r *reading) item(form envelope.Form, object map[string]any, place *strict.Place) api.ObjectRef {
	raw, err := json.Marshal(object)
	if err != nil {
		r.findings.Lose(place, "what is no JSON", envelope.Expected)
		return api.ObjectRef{}
	}
	tree, _, err := strict.Parse(raw)
	if err != nil {
		r.findings.Lose(place, "an object that is too deep", envelope.Expected)
		return api.ObjectRef{}
	}
	inner := reading{raw: raw, tree: tree, out: Decoded{Object: refAt(tree)}}
	inner.called()
	inner.object()
	inner.lies(form, r.out.Object)
	for _, finding := range inner.findings {
		if finding.At = finding.At.Under(place); form == envelope.Config {
			finding.Fix = nil // it would go into a text
		}
		r.findings = append(r.findings, finding)
	}
	return inner.out.Object
}

// lies checks that an object may lie in an envelope of a form, which is called outer.
func (r *reading) lies(form envelope.Form, outer api.ObjectRef) {
	at := (*strict.Place)(nil).Child("kind")
	group, _ := api.SplitAPIVersion(r.out.Object.APIVersion)
	inside, known := api.KindNamespaced(group, r.out.Object.Kind)
	inside = inside || !known && r.out.Object.Namespace != ""
	switch {
	case r.out.Object.Kind == "":
	case ours(group) || r.form() != envelope.None:
		r.findings.Add(at, strict.Quote(r.out.Object.Kind), "an object for members: what steers the fleet lies in no envelope, and no envelope in another", nil)
	case form == envelope.ClusterWide && inside:
		r.findings.Add(at, r.out.Object.Kind+", which lies in a namespace", "a kind outside namespaces; a "+api.KindResourceEnvelope+" holds the others", nil)
	case form == envelope.Namespaced && known && !inside:
		r.findings.Add(at, r.out.Object.Kind+", which lies outside namespaces", "a kind in namespaces; a "+api.KindClusterResourceEnvelope+" holds the others", nil)
	case form == envelope.Namespaced || inside:
		r.liesWith(outer)
	}
}

// liesWith checks that an object lies in the namespace of its envelope.
func (r *reading) liesWith(outer api.ObjectRef) {
	home, found := cmp.Or(outer.Namespace, "default"), "nothing"
	if r.out.Object.Namespace != "" {
		found = strict.Quote(r.out.Object.Namespace)
	}
	if r.out.Object.Namespace != home {
		at := (*strict.Place)(nil).In("metadata", "namespace")
		r.findings.Add(at, found, home+", the namespace of the envelope", strict.TextNode(home))
	}
}

package validate

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// MaxObjectBytes is the size above which an object is refused.
const MaxObjectBytes = 900 << 10

// Decoded is one document a user wrote.
type Decoded struct {
	// Object is what the document names itself, as far as it could be read.
	Object api.ObjectRef
	// Value is a pointer to the type of a known kind, *api.Placement for both kinds of placements; nil for content.
	Value metav1.ObjectMetaAccessor
	// Body is the document of any other kind, content, as it was given.
	Body json.RawMessage
	// ResourceVersion and UID are what the document says it was read as.
	ResourceVersion string
	UID             string
	// Notes are remarks that stop nothing.
	Notes     []string
	serverSet []string
	// Corrected is the whole document as YAML with every fault mended; empty when there is no fault,
	// or when one of them has no obvious correction.
	Corrected string
}

// IsContent reports whether the document is of a kind that Flotilla stores and places but gives no
// meaning to.
func (d *Decoded) IsContent() bool { return d.Value == nil }

// As is the value of a document of type T, nil when it is of another.
func As[T any](d *Decoded) *T {
	value, _ := any(d.Value).(*T)
	return value
}

// Meta is the metadata of a document of a known kind, to be changed in place; nil for content.
func (d *Decoded) Meta() *metav1.ObjectMeta {
	if d.Value == nil {
		return nil
	}
	meta, _ := d.Value.GetObjectMeta().(*metav1.ObjectMeta)
	return meta
}

// Decode reads one JSON document. Known kinds are decoded strictly and held to every rule that needs
// no other object; the rules that compare with the stored object are Change's. All faults of
// the document come back at once. Nothing is defaulted.
func Decode(raw []byte) (Decoded, strict.Faults) { return decode(raw, kinds()) }

// DecodeInstances is Decode for who knows no other kind than InstanceCatalog.
func DecodeInstances(raw []byte) (Decoded, strict.Faults) {
	return decode(raw, table{api.KindInstanceCatalog: instances()})
}

func decode(raw []byte, kinds table) (Decoded, strict.Faults) {
	if len(raw) > MaxObjectBytes {
		return Decoded{}, strict.Faults{{
			Found: fmt.Sprintf("a document of %d bytes", len(raw)), Expected: fmt.Sprintf("at most %d bytes", MaxObjectBytes),
		}}
	}
	tree, duplicates, err := strict.Parse(raw)
	if err != nil {
		return Decoded{}, strict.Faults{strict.SyntaxFault(err)}
	}
	r := reading{raw: raw, kinds: kinds, tree: tree, findings: duplicates}
	r.read()
	if len(r.findings) == 0 {
		return r.out, nil
	}
	r.out.Corrected = r.corrected()
	return r.out, r.findings.Faults(r.name())
}

// reading is one document on its way through Decode.
type reading struct {
	raw      []byte
	kinds    table
	tree     *strict.Node
	out      Decoded
	findings strict.Findings
}

func (r *reading) name() string {
	switch name := r.out.Object.String(); {
	case !api.Printable(name):
		return ""
	case r.out.Object.Kind == "" || r.out.Object.Name == "":
		return r.out.Object.Kind
	default:
		return name
	}
}

func (r *reading) read() {
	if r.tree.Shape != strict.ShapeMap {
		r.findings.Lose(nil, r.tree.String(), "a map with apiVersion, kind and metadata")
		return
	}
	meta := r.tree.Get("metadata")
	r.out.Object = refAt(r.tree)
	r.out.ResourceVersion, r.out.UID = textAt(meta, "resourceVersion"), textAt(meta, "uid")
	if !r.named() {
		return
	}
	r.out.serverSet = serverSet(r.tree)
	known, ok := r.kinds[r.out.Object.Kind]
	if !ok || r.foreign() {
		r.content()
		return
	}
	known.read(r)
	r.metadata()
}

// foreign reports a kind of another group that bears a name of ours which others use too.
func (r *reading) foreign() bool {
	group, _ := api.SplitAPIVersion(r.out.Object.APIVersion)
	known := r.kinds[r.out.Object.Kind]
	return known.shared && group != known.group
}

func refAt(tree *strict.Node) api.ObjectRef {
	meta := tree.Get("metadata")
	return api.ObjectRef{
		APIVersion: textAt(tree, "apiVersion"), Kind: textAt(tree, "kind"),
		Namespace: textAt(meta, "namespace"), Name: textAt(meta, "name"),
	}
}

func textAt(n *strict.Node, key string) string {
	if v := n.Get(key); v != nil && v.Shape == strict.ShapeText {
		return v.Text
	}
	return ""
}

// strict decodes the tree into a known kind and keeps the corrected tree.
func (r *reading) strict(into any) {
	w := strict.Decoder{Findings: r.findings}
	r.tree = w.Decode(r.tree, into, nil)
	r.findings = w.Findings
}

// check adds what the rules found, except about places that could not be read. Of a required field
// that is absent, and of a number that was read as a text, the rule, if any, says more than the shape does.
func (r *reading) check(broken rules) {
	found, less := *broken.Findings, make(map[string]int)
	var lost []string
	for i := range r.findings {
		if f := &r.findings[i]; f.Missing || f.Fix != nil && f.Fix.Shape == strict.ShapeText && f.Rename == "" {
			less[f.At.String()] = i
		} else if f.Lost {
			lost = append(lost, f.At.String())
		}
	}
	for _, f := range found[:min(len(found), strict.MaxFindings)] {
		at := f.At.String()
		if i, ok := less[at]; ok {
			if !r.findings[i].Missing {
				f.Found = r.findings[i].Found
			}
			r.findings[i] = f
		} else if !slices.ContainsFunc(lost, func(l string) bool { return strict.Within(at, l) }) {
			r.findings = append(r.findings, f)
		}
	}
}

// corrected puts every fix into the document, so that the fix of an outer fault shows those inside it.
// It renders the whole when every finding has a fix and the result has no fault left.
func (r *reading) corrected() string {
	complete := true
	for _, f := range r.findings {
		if f.Fix == nil {
			complete = false
			continue
		}
		r.tree.Put(f.At, f.Fix, f.Rename)
	}
	if !complete {
		return ""
	}
	again := reading{kinds: r.kinds, tree: r.tree}
	again.read()
	if len(again.findings) > 0 {
		return ""
	}
	return again.tree.YAML() + "\n"
}

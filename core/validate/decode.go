package validate

import (
	"encoding/json"
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/strict"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxObjectBytes is the size above which an object is refused.
const MaxObjectBytes = 900 << 10

// Decoded is one document a user wrote.
type Decoded struct {
	// Object is what the document names itself, as far as it could be read.
	Object api.ObjectRef
	// Placement is set for a ClusterResourcePlacement and a ResourcePlacement.
	Placement *api.Placement
	// Member is set for a MemberCluster.
	Member *api.MemberCluster
	// Run, Strategy, Profile, Catalog and Maintenance are set for the kinds around upgrades.
	Run         *api.UpdateRun
	Strategy    *api.UpdateStrategy
	Profile     *api.AutoUpgradeProfile
	Catalog     *api.VersionCatalog
	Maintenance *api.MemberMaintenance
	// Pool and Instances are set for a NodePool and an InstanceCatalog.
	Pool      *api.NodePool
	Instances *api.InstanceCatalog
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
func (d *Decoded) IsContent() bool {
	value, _, _ := d.Typed()
	return value == nil
}

// Typed returns the value of a known kind with its metadata and its spec, all of them pointers into
// d; nil for content.
func (d *Decoded) Typed() (value any, meta *metav1.ObjectMeta, spec any) {
	switch {
	case d.Placement != nil:
		return d.Placement, &d.Placement.ObjectMeta, &d.Placement.Spec
	case d.Member != nil:
		return d.Member, &d.Member.ObjectMeta, &d.Member.Spec
	case d.Run != nil:
		return d.Run, &d.Run.ObjectMeta, &d.Run.Spec
	case d.Strategy != nil:
		return d.Strategy, &d.Strategy.ObjectMeta, &d.Strategy.Spec
	case d.Profile != nil:
		return d.Profile, &d.Profile.ObjectMeta, &d.Profile.Spec
	case d.Catalog != nil:
		return d.Catalog, &d.Catalog.ObjectMeta, &d.Catalog.Spec
	case d.Maintenance != nil:
		return d.Maintenance, &d.Maintenance.ObjectMeta, &d.Maintenance.Spec
	case d.Pool != nil:
		return d.Pool, &d.Pool.ObjectMeta, &d.Pool.Spec
	case d.Instances != nil:
		return d.Instances, &d.Instances.ObjectMeta, &d.Instances.Spec
	}
	return nil, nil, nil
}

// knownKinds maps the kinds that Flotilla gives a meaning to, to their group.
var knownKinds = map[string]string{
	api.KindClusterResourcePlacement: api.GroupPlacement,
	api.KindResourcePlacement:        api.GroupPlacement,
	api.KindMemberCluster:            api.GroupCluster,
	api.KindUpdateRun:                api.GroupFlotilla,
	api.KindUpdateStrategy:           api.GroupFlotilla,
	api.KindAutoUpgradeProfile:       api.GroupFlotilla,
	api.KindVersionCatalog:           api.GroupFlotilla,
	api.KindMemberMaintenance:        api.GroupFlotilla,
	api.KindGate:                     api.GroupFlotilla,
	api.KindNodePool:                 api.GroupKarpenter,
	api.KindInstanceCatalog:          api.GroupFlotilla,
}

// knownVersions are accepted of every known kind of a group; their shapes are the same.
var knownVersions = map[string][]string{
	api.GroupPlacement: {"v1", "v1beta1"},
	api.GroupCluster:   {"v1", "v1beta1"},
	api.GroupFlotilla:  {"v1alpha1"},
	api.GroupKarpenter: {"v1", "v1beta1"},
}

// Known reports whether documents of a kind are decoded strictly; all others are content.
func Known(apiVersion, kind string) bool {
	group, version := api.SplitAPIVersion(apiVersion)
	return knownKinds[kind] == group && group != "" && slices.Contains(knownVersions[group], version)
}

// Decode reads one JSON document. Known kinds are decoded strictly and held to every rule that needs
// no other object; the rules that compare with the stored object are ValidateUpdate's. All faults of
// the document come back at once. Nothing is defaulted.
func Decode(raw []byte) (Decoded, strict.Faults) {
	if len(raw) > MaxObjectBytes {
		return Decoded{}, strict.Faults{{
			Found: fmt.Sprintf("a document of %d bytes", len(raw)), Expected: fmt.Sprintf("at most %d bytes", MaxObjectBytes),
		}}
	}
	tree, duplicates, err := strict.Parse(raw)
	if err != nil {
		return Decoded{}, strict.Faults{strict.SyntaxFault(err)}
	}
	r := reading{raw: raw, tree: tree, findings: duplicates}
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
	r.out.Object = api.ObjectRef{
		APIVersion: textAt(r.tree, "apiVersion"), Kind: textAt(r.tree, "kind"),
		Namespace: textAt(meta, "namespace"), Name: textAt(meta, "name"),
	}
	r.out.ResourceVersion, r.out.UID = textAt(meta, "resourceVersion"), textAt(meta, "uid")
	if !r.named() {
		return
	}
	r.out.serverSet = serverSet(r.tree)
	switch {
	case r.foreign():
		r.content()
	case r.out.Object.Kind == api.KindMemberCluster:
		r.member()
	case r.out.Object.Kind == api.KindClusterResourcePlacement, r.out.Object.Kind == api.KindResourcePlacement:
		r.placement()
	case r.out.Object.Kind == api.KindNodePool:
		r.pool()
	case r.out.Object.Kind == api.KindInstanceCatalog:
		r.instances()
	case knownKinds[r.out.Object.Kind] == api.GroupFlotilla:
		r.upgrade()
	default:
		r.content()
	}
}

// foreign reports a kind of another group that bears a name of ours which others use too.
func (r *reading) foreign() bool {
	group, _ := api.SplitAPIVersion(r.out.Object.APIVersion)
	switch kind := r.out.Object.Kind; kind {
	case api.KindGate, api.KindNodePool:
		return group != knownKinds[kind]
	}
	return false
}

func textAt(n *strict.Node, key string) string {
	if v := n.Get(key); v != nil && v.Shape == strict.ShapeText {
		return v.Text
	}
	return ""
}

// placement reads a placement. Its status is left out unread: it is the hub's own.
func (r *reading) placement() {
	r.tree.Remove("status")
	p := &api.Placement{}
	r.strict(p)
	r.out.Placement = p
	r.check(validatePlacement(p))
	r.out.Notes = append(annotationNotes(p.Annotations, api.AnnotationFailoverAfter, api.AnnotationProgressDeadline), placementNotes(p)...)
}

// member reads a member. Its status is read loosely, for offline plans: another system wrote it.
func (r *reading) member() {
	status := r.tree.Get("status")
	r.tree.Remove("status")
	m := &api.MemberCluster{}
	r.strict(m)
	if status != nil && status.Shape == strict.ShapeMap {
		m.Status = &api.MemberClusterStatus{}
		var at *strict.Place
		w := strict.Decoder{Loose: true}
		w.Decode(status, m.Status, at.Child("status"))
		r.findings = append(r.findings, w.Findings...)
		r.tree.Set("status", status)
	}
	r.out.Member = m
	r.check(validateMember(m))
	r.out.Notes = append(annotationNotes(m.Annotations), memberNotes(&m.Spec)...)
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
	again := reading{tree: r.tree}
	again.read()
	if len(again.findings) > 0 {
		return ""
	}
	return again.tree.YAML() + "\n"
}

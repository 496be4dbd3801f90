package validate

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// kindPattern is what Kubernetes lets kinds be.
var kindPattern = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)

// wellFormed checks what a document names itself by, which is shown and stored wherever it goes.
func (r *reading) wellFormed() {
	var at *strict.Place
	if kind := r.out.Object.Kind; kind != "" && !kindPattern.MatchString(kind) {
		r.findings.Lose(at.Child("kind"), strict.Quote(kind), "at most 63 letters, digits and inner dashes, beginning with a letter")
	}
	if version := r.out.Object.APIVersion; version != "" && !isAPIVersion(version) {
		r.findings.Lose(at.Child("apiVersion"), strict.Quote(version), `a version, or a group and a version, like "v1" or "apps/v1"`)
	}
}

func isAPIVersion(text string) bool {
	group, version, grouped := strings.Cut(text, "/")
	if !grouped {
		return len(validation.IsDNS1035Label(text)) == 0
	}
	return len(validation.IsDNS1123Subdomain(group)) == 0 && len(validation.IsDNS1035Label(version)) == 0
}

// called checks what a document says that it is.
func (r *reading) called() {
	var at *strict.Place
	for _, key := range []string{"apiVersion", "kind"} {
		if v := r.tree.Get(key); v == nil {
			r.findings.Lose(at.Child(key), "nothing", "a string")
		} else if v.Shape != strict.ShapeText || v.Text == "" {
			r.findings = append(r.findings, strict.Finding{At: at.Child(key), Found: v.String(), Expected: "a string", Lost: true, Kind: strict.FaultType})
		}
	}
	r.wellFormed()
}

// named checks apiVersion and kind, without which nothing else can be said.
func (r *reading) named() bool {
	r.called()
	if r.out.Object.Kind == "" || r.out.Object.APIVersion == "" && !r.assumeVersion() {
		return false
	}
	r.knownVersion()
	r.supported()
	return true
}

// assumeVersion takes a kind that only we have for ours when it does not say its version, so that what is
// wrong below is found too.
func (r *reading) assumeVersion() bool {
	known, ok := r.kinds[r.out.Object.Kind]
	if !ok || r.foreign() {
		return false
	}
	r.out.Object.APIVersion = known.group + "/" + versions[known.group][0]
	for i := range r.findings {
		if f := &r.findings[i]; f.At.String() == "apiVersion" && f.Kind != strict.FaultDuplicate {
			f.Expected, f.Fix = r.out.Object.APIVersion, strict.TextNode(r.out.Object.APIVersion)
		}
	}
	return true
}

// knownVersion refuses a known kind of another group or version: taken as content it would be stored
// and do nothing.
func (r *reading) knownVersion() {
	group := r.kinds[r.out.Object.Kind].group
	if r.isEnvelope() {
		group = api.GroupPlacement
	}
	if held, version := api.SplitAPIVersion(r.out.Object.APIVersion); group == "" || r.foreign() || held == group && slices.Contains(versions[group], version) {
		return
	}
	var accepted []string
	for _, version := range versions[group] {
		accepted = append(accepted, group+"/"+version)
	}
	var at *strict.Place
	r.findings.Add(at.Child("apiVersion"), strict.Quote(r.out.Object.APIVersion), strings.Join(accepted, " or "), strict.TextNode(accepted[0]))
}

// ours reports whether all kinds of a group are Flotilla's.
func ours(group string) bool {
	return group == api.GroupPlacement || group == api.GroupCluster || group == api.GroupFlotilla
}

// supported refuses kinds of our groups that this build gives no meaning to. The rest of such a document
// is looked at as one of the kind that was meant, or as content is.
func (r *reading) supported() {
	group, _ := api.SplitAPIVersion(r.out.Object.APIVersion)
	if !ours(group) || r.kinds[r.out.Object.Kind].group != "" || r.isEnvelope() {
		return
	}
	names := slices.Sorted(maps.Keys(r.kinds))
	names = slices.Sorted(slices.Values(append(names, envelopeKinds...)))
	var at *strict.Place
	expected := "a kind that is supported: " + strings.Join(names, ", ")
	var fix *strict.Node
	found := strict.Quote(r.out.Object.Kind)
	if near := strict.Nearest(r.out.Object.Kind, names); near != "" {
		expected, fix = near+" (did you mean that?)", strict.TextNode(near)
		r.out.Object.Kind = near
		r.tree.Set("kind", fix)
	}
	r.findings.Add(at.Child("kind"), found, expected, fix)
}

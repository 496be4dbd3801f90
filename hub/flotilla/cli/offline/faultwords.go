package offline

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/flotilla/schema"
)

// DescribeFaults names the file and place of each fault, in the order of the files, and the command that puts
// right what it can, or else the one that says what the first field in fault may be. Only an apply has left
// something not applied.
func DescribeFaults(err error, documents []Document, s *Source, applying bool) error {
	f := session.FailureOf(err)
	for i := range f.Faults {
		locate(&f.Faults[i], documents)
	}
	inOrder(f.Faults, documents)
	if !applying {
		f.Message = strings.Replace(f.Message, resource.NothingApplied, "refused: ", 1)
	}
	if f.Next == "" && correctable(documents) {
		f.Next = s.Command("correct")
	}
	f.Next = cmp.Or(f.Next, explaining(f.Faults, documents))
	f.All = s.Command("apply --dry-run=client")
	if _, hubs := errors.AsType[*api.Failure](err); hubs {
		f.All = s.Command("apply --dry-run=server")
	}
	return f
}

// inBrackets are the items and keys of a path.
var inBrackets = regexp.MustCompile(`\[[^\]]*\]`)

// explaining is the command that says what the first field in fault may be, or the field around one that does
// not exist; nothing where no kind is known of a fault.
func explaining(faults strict.Faults, documents []Document) string {
	for i := range faults {
		about := slices.IndexFunc(documents, func(d Document) bool { return d.names(faults[i].Object) })
		if about < 0 || faults[i].Path == "" || !schema.Known(documents[about].Ref.Kind) {
			continue
		}
		kind := documents[about].Ref.Kind
		path := strings.Split(inBrackets.ReplaceAllString(faults[i].Path, ""), ".")
		for len(path) > 0 {
			if _, unknown := schema.Root(kind).Find(path); unknown == "" {
				break
			}
			path = path[:len(path)-1]
		}
		return "flotilla explain " + strings.Join(append([]string{resource.ShortWord(kind)}, path...), ".")
	}
	return ""
}

// correctable says that documents have faults, and that all of them have an obvious correction.
func correctable(documents []Document) bool {
	mended := false
	for i := range documents {
		if _, left, err := Corrected(&documents[i]); err != nil || len(left) > 0 {
			return false
		}
		_, faults := validate.Decode(documents[i].Body)
		mended = mended || len(faults) > 0
	}
	return mended
}

// locate names the document that a fault is about, and where in its file the field stands.
func locate(fault *strict.Fault, documents []Document) {
	if fault.File != "" {
		return
	}
	i := slices.IndexFunc(documents, func(d Document) bool { return d.names(fault.Object) })
	if fault.Document > 0 {
		i = fault.Document - 1
	}
	if i < 0 || i >= len(documents) {
		return
	}
	if d := &documents[i]; fault.Object == "" || !d.names(fault.Object) {
		fault.Object = d.title()
	}
	documents[i].File.Place(fault)
}

// title is what a fault calls the document when it could not read its name.
func (d *Document) title() string { return strings.Trim(d.Ref.Kind+"/"+d.Ref.Name, "/") }

// Placed are faults of the document with their places.
func (d *Document) Placed(faults strict.Faults) strict.Faults {
	out := slices.Clone(faults)
	for i := range out {
		out[i].Object = cmp.Or(out[i].Object, d.title())
		d.File.Place(&out[i])
	}
	return out
}

// inOrder sorts faults as people come upon them who read the files from top to bottom; those without a
// place come first.
func inOrder(faults strict.Faults, documents []Document) {
	files := map[string]int{}
	for i := range documents {
		if name := documents[i].File.Source; files[name] == 0 {
			files[name] = i + 1
		}
	}
	slices.SortStableFunc(faults, func(a, b strict.Fault) int {
		return cmp.Or(files[a.File]-files[b.File], strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
}

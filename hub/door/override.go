package door

import (
	"encoding/json"
	"fmt"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/render"
)

func isOverride(kind string) bool {
	return kind == api.KindClusterResourceOverride || kind == api.KindResourceOverride
}

// sealValues keeps what an override puts into Secrets out of its record: in the tree of its body digests take its place, and
// the whole lies sealed in content, as Secrets do.
func (f *draft) sealValues(doc *document, tree map[string]any, next *api.Spec) error {
	if !isOverride(doc.Object.Kind) {
		return nil
	}
	before, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", doc.Object, err)
	}
	content.Redact(tree, f.door.store.Keys)
	if after, err := json.Marshal(tree); err != nil || string(after) == string(before) {
		return err
	}
	whole, err := withoutServerSet(before)
	if err != nil {
		return err
	}
	next.Size, next.Digest = len(whole), f.door.store.Keys.Digest(whole)
	f.bodies = append(f.bodies, sealable{next.Digest, whole})
	return nil
}

// referOverrides adds what overrides that put values into Secrets refer to, and the works that were made by overrides.
func (d *Door) referOverrides(all *referred) error {
	specs, err := d.records.Specs[api.KindClusterResourceOverride].FindAll()
	if err != nil {
		return err
	}
	for _, spec := range specs {
		all.bodies[spec.Value.Digest], all.bodies[spec.Value.SealedOverlay] = true, true
	}
	renderings, err := d.records.Renderings.FindAll()
	if err != nil {
		return err
	}
	for _, rendering := range renderings {
		for _, made := range rendering.Value.Works {
			all.works[made.Work], all.rendered[made.Work] = true, true
			for _, pack := range made.Packs {
				all.works[pack], all.packs[pack] = true, true
			}
		}
	}
	return nil
}

// judgeOverrides holds the overrides that a draft writes against all others, as they would be together: how many there
// are, and that no two of a kind change one object.
func (d *Door) judgeOverrides(f *draft) error {
	var written []*render.Override
	for i := range f.typed {
		if isOverride(f.typed[i].Object.Kind) {
			spec, err := overrideOf(f.typed[i])
			if err != nil {
				return err
			}
			if written = append(written, spec); spec.Placement == nil {
				f.note(f.typed[i].Object, "goes out to a member with the next change of what is placed there; with spec.placement it goes out at once")
			}
		}
	}
	if len(written) == 0 {
		return nil
	}
	others := d.otherOverrides(written)
	f.refused.faults = append(f.refused.faults, render.Clashes(written, others)...)
	f.refused.faults = append(f.refused.faults, render.Crowd(written, others, d.isStored)...)
	return nil
}

func (d *Door) isStored(key string) bool {
	_, _, found := d.records.Specs[api.KindClusterResourceOverride].Get(key)
	return found
}

// overrideOf reads an override among the documents.
func overrideOf(doc *document) (*render.Override, error) {
	body, err := json.Marshal(doc.Value)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", doc.Object, err)
	}
	return render.Read(&api.Spec{Object: doc.Object, Body: body})
}

// otherOverrides are those that are stored, but for those of the same names. One that cannot be read is told of, and
// forbids nothing.
func (d *Door) otherOverrides(written []*render.Override) []*render.Override {
	named := map[string]bool{}
	for _, o := range written {
		named[o.Version.Name] = true
	}
	var others []*render.Override
	for _, entry := range d.records.Specs[api.KindClusterResourceOverride].All() {
		if named[entry.Name] {
			continue
		}
		o, err := render.Read(&entry.Value)
		if err != nil {
			d.complain(api.AuditObject(api.AuditOverride, entry.Name), entry.Revision, err)
			continue
		}
		others = append(others, o)
	}
	return others
}

// overrideNotes says of overrides that would be written what a plan leaves out.
func overrideNotes(results []api.ApplyResult) (notes []string) {
	for i := range results {
		if r := &results[i]; isOverride(r.Object.Kind) && r.Action != api.ActionUnchanged {
			notes = append(notes, r.Object.String()+": the plan does not foresee what it changes on members")
		}
	}
	return notes
}

package draft

import (
	"context"
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
func (f *Draft) sealValues(doc *Document, tree map[string]any, next *api.Spec) error {
	if !isOverride(doc.Object.Kind) {
		return nil
	}
	before, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", doc.Object, err)
	}
	content.Redact(tree, f.desk.store.Keys)
	if after, err := json.Marshal(tree); err != nil || string(after) == string(before) {
		return err
	}
	whole, err := withoutServerSet(before)
	if err != nil {
		return err
	}
	next.Size, next.Digest = len(whole), f.desk.store.Keys.Digest(whole)
	f.bodies[next.Digest] = whole
	return nil
}

// judgeOverrides holds the overrides that a draft writes against all others, as they would be together: how many there
// are, and that no two of a kind change one object.
func (d *Desk) judgeOverrides(f *Draft) {
	var written []*render.Override
	for i := range f.typed {
		if isOverride(f.typed[i].Object.Kind) {
			head := render.HeadOf(f.typed[i].Object, f.typed[i].Value)
			if written = append(written, head); head.Placement == nil {
				f.note(f.typed[i].Object, "goes out to a member with the next change of what is placed there; with spec.placement it goes out at once")
			}
		}
	}
	if len(written) == 0 {
		return
	}
	others := d.otherOverrides(f, written)
	f.refused.faults = append(f.refused.faults, render.Clashes(written, others)...)
	f.refused.faults = append(f.refused.faults, render.Crowd(written, others, d.isStored)...)
}

func (d *Desk) isStored(key string) bool {
	_, _, found := d.records.Specs[api.KindClusterResourceOverride].Get(key)
	return found
}

// Overrides are those among the documents, and then the stored ones that have other names: with all values, or, hidden, with digests in the
// place of what they put into Secrets, wherever they put it.
func (d *Desk) Overrides(ctx context.Context, documents *Documents, hidden bool) (written, others []*render.Override, err error) {
	named, read := map[string]bool{}, render.Read
	if hidden {
		read = func(spec *api.Spec) (*render.Override, error) { return render.ReadHidden(spec, d.store.Keys) }
	}
	for i := range documents.All {
		if !isOverride(documents.All[i].Object.Kind) {
			continue
		}
		spec, err := specOfOverride(&documents.All[i])
		if err != nil {
			return nil, nil, err
		}
		o, err := read(spec)
		if err != nil {
			return nil, nil, err
		}
		named[o.Version.Name] = true
		written = append(written, o)
	}
	for _, entry := range d.records.Specs[api.KindClusterResourceOverride].All() {
		if named[entry.Name] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		spec := entry.Value
		if spec.Digest != "" {
			if spec.Body, err = d.store.Content.Get(ctx, spec.Digest); err != nil {
				return nil, nil, fmt.Errorf("reading %s: %w", spec.Object, err)
			}
		}
		o, err := read(&spec)
		if err != nil {
			return nil, nil, err
		}
		others = append(others, o)
	}
	return written, others, nil
}

// specOfOverride is the spec that an override among the documents would have.
func specOfOverride(doc *Document) (*api.Spec, error) {
	body, err := json.Marshal(doc.Value)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", doc.Object, err)
	}
	return &api.Spec{Object: doc.Object, Body: body}, nil
}

// otherOverrides are the heads of those that stay stored, but for those of the same names. One that cannot be read is told of, and
// forbids nothing.
func (d *Desk) otherOverrides(f *Draft, written []*render.Override) []*render.Override {
	named := map[string]bool{}
	for _, o := range written {
		named[o.Version.Name] = true
	}
	var others []*render.Override
	for _, entry := range d.records.Specs[api.KindClusterResourceOverride].All() {
		if _, going := f.going[entry.Value.Object]; going || named[entry.Name] {
			continue
		}
		o, err := d.records.Override(&entry)
		if err != nil {
			d.complain(api.AuditObject(api.AuditOverride, entry.Name), entry.Revision, err)
			continue
		}
		others = append(others, o)
	}
	return others
}

// Unforeseen says of overrides and evictions that would be written what a plan leaves out.
func Unforeseen(results []api.ApplyResult) (notes []string) {
	for i := range results {
		if r := &results[i]; (isOverride(r.Object.Kind) || r.Object.Kind == api.KindEviction) && r.Action != api.ActionUnchanged {
			notes = append(notes, r.Object.String()+": the plan does not foresee what it changes on members")
		}
	}
	return notes
}

package draft

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/content"
)

// Placements are those that would be there once the draft is committed, by key, without those that are going.
func (f *Draft) Placements() map[string]*api.Placement {
	all := map[string]*api.Placement{}
	for _, p := range f.desk.Placements() {
		all[p.Key()] = p
	}
	maps.Copy(all, f.placements)
	maps.DeleteFunc(all, func(_ string, p *api.Placement) bool { return p == nil || p.DeletionTimestamp != nil })
	return all
}

// Names reports whether a placement is among the documents, changed or not.
func (f *Draft) Names(placement string) bool {
	_, named := f.named[placement]
	return named
}

// Touches reports whether content would differ from what is stored.
func (f *Draft) Touches() bool { return f.touched }

// Cut is the snapshot that would be cut of a placement, nil when none would.
func (f *Draft) Cut(placement string) *api.Snapshot { return f.cuts[placement] }

// CutBeside are the other placements of which snapshots would be cut, by key.
func (f *Draft) CutBeside(placement string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.cuts)), func(key string) bool { return key == placement })
}

// Index is the content, as it would be.
func (f *Draft) Index() *content.Index { return f.index }

// Now is when the draft was begun.
func (f *Draft) Now() metav1.Time { return f.now }

// Body is a body that would be stored under a digest, nil for one that would not.
func (f *Draft) Body(digest string) []byte { return f.bodies[digest] }

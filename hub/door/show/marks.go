package show

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/hub/door/records"
)

// mostMarks is how many marks a page has at most, and mostOnly of how many objects a list is at most that names them.
const mostMarks, mostOnly = 4000, 500

// marked is the mark of an object that is shown from records at these revisions, and with what is told of it: within one term these
// make what is shown.
func (v *View) marked(revisions []uint64, told string) string {
	return digested(fmt.Sprintf("%d.%d %v %s", v.store.Term.Epoch, v.store.Term.Term, revisions, told))
}

func digested[T string | json.RawMessage](text T) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.EncodeToString(sum[:15])
}

// markNow is the mark of an object as it would be shown now, without reading what was applied; empty where nothing is known without.
func (v *View) markNow(ref api.ObjectRef, on *standings) string {
	revisions := v.revisions(ref)
	table, name := v.records.Place(ref)
	if table != v.records.Objects {
		return v.marked(revisions, "")
	}
	spec, revision, found := table.Get(name)
	if !found || revision != revisions[0] { // it changes just now
		return ""
	}
	told, known := on.mark(&spec)
	if !known {
		return ""
	}
	return v.marked(revisions, told)
}

// markOf is the mark of an item: of one that is not stored as it is shown that of all of it.
func (v *View) markOf(ctx context.Context, i *item, on *standings) (string, error) {
	if i.stored {
		return v.markNow(i.ref, on), nil
	}
	is, err := i.render(ctx)
	return digested(is.body), err
}

// marks has an answer hold marks, and no objects.
func (v *View) marks(ctx context.Context, items []item, limit int, response *api.ListResponse) (any, error) {
	on, most := v.standings(), mostMarks
	if limit > 0 {
		most = min(most, limit)
	}
	size := 0
	for i := range items {
		key := items[i].named()
		if size += len(key.Namespace) + len(key.Name); len(response.Marks) == most || size > pageBytes/2 {
			return response, nil
		}
		mark, err := v.markOf(ctx, &items[i], on)
		if err != nil {
			return nil, err
		}
		response.Keys, response.Marks = append(response.Keys, key), append(response.Marks, mark)
		response.Continue = items[i].key()
	}
	response.Continue = ""
	return response, nil
}

// deadlines are how long objects may be selected by nothing, of those that were shown while nothing selected them.
type deadlines struct {
	mu    sync.Mutex
	byKey map[string]deadline
}

type deadline struct {
	digest string // of what was applied
	after  time.Duration
}

func newDeadlines(records *records.Tables) *deadlines {
	d := &deadlines{byKey: map[string]deadline{}}
	records.Objects.OnChange(func(key string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.byKey, key)
	})
	return d
}

// put notes the deadline of an object as it was applied.
func (d *deadlines) put(spec *api.Spec, after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.byKey[content.Key(spec.Object)] = deadline{spec.Digest, after}
}

// of is the deadline of an object as it was applied, where it is known.
func (d *deadlines) of(spec *api.Spec) (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, is := d.byKey[content.Key(spec.Object)]
	return known.after, is && known.digest == spec.Digest
}

// Package bundles lays out what holds the manifests of the snapshots that one draft cuts. Placements that select the same share it: it is
// worked out, sealed and stored once, and what a placement had before is built upon. Large ones are stored before the turn. Package draft
// uses it.
package bundles

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
)

const (
	// apart is from how many bytes on what is new in a placement lies in a bundle of its own, upon which the next is built.
	apart = 64 << 10
	// spare is how many bytes one draft may carry anew so that works name fewer bundles.
	spare = 64 << 20
	// mostLaid is how many bytes of objects one request has laid out anew.
	mostLaid = 256 << 20
)

// Layout lays out snapshots. One goroutine uses it at a time.
type Layout struct {
	// Plan is what bundles are cut by, without Earlier.
	Plan content.Plan
	// Stacks are what works are built upon.
	Stacks *Stacks
	// Bounded says that whoever asks can ask for less at a time.
	Bounded bool

	waiting []waiting
	bundles []content.Bundle
	known   map[string]bool   // digests of bundles
	laid    map[uint64][]laid // by what of gives
}

// waiting is a snapshot that is to be laid out, and those of its placement before it.
type waiting struct {
	next *api.Snapshot
	kept []store.Entry[api.Snapshot]
}

// laid is what was laid out: manifests, upon earlier works.
type laid struct {
	manifests []api.Manifest
	earlier   []string
	work      string
	packs     []string
}

// Bundles are those that were made.
func (l *Layout) Bundles() []content.Bundle { return l.bundles }

// Known gives a snapshot the work and packs of an earlier one of its placement that held the same; false where none did.
func Known(next *api.Snapshot, kept []store.Entry[api.Snapshot]) bool {
	for i := range kept {
		if one := &kept[i].Value; slices.Equal(one.Manifests, next.Manifests) {
			next.Work, next.Packs = one.Work, one.Packs
			return true
		}
	}
	return false
}

// Add has a snapshot given, by Lay, the work that holds its manifests, and its packs: those that are Known, else bundles that are built
// upon what one before held where that saves much.
func (l *Layout) Add(next *api.Snapshot, kept []store.Entry[api.Snapshot]) {
	if !Known(next, kept) {
		l.waiting = append(l.waiting, waiting{next, kept})
	}
}

// Lay lays out what was added; given are bodies that are new. ErrLater: something is to be read before.
func (l *Layout) Lay(ctx context.Context, given map[string][]byte) error {
	ahead := of(ctx)
	if err := l.know(ctx, ahead); err != nil {
		return err
	}
	l.Plan.Spare, l.Plan.Apart, l.Plan.Shared, l.Plan.Unkeyed = spare, apart, l.shared(given), true
	for i := range l.waiting {
		if err := l.lay(&l.waiting[i], ahead); err != nil {
			return fmt.Errorf("cutting a snapshot of %s: %w", l.waiting[i].next.Placement, err)
		}
	}
	return l.check()
}

// know finds out about the works that snapshots that wait are built upon: before the turn where that is possible.
func (l *Layout) know(ctx context.Context, ahead *Ahead) error {
	var unknown []string
	for i := range l.waiting {
		if work := upon(l.waiting[i].kept); work != "" && !l.Stacks.knows(work) {
			unknown = append(unknown, work)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return ahead.later(ctx, func(ctx context.Context, _ *Ahead) error { return l.Stacks.read(ctx, unknown) })
}

// upon is the work of the newest snapshot that names packs, nothing where none does.
func upon(kept []store.Entry[api.Snapshot]) string {
	for i := len(kept) - 1; i >= 0; i-- {
		if one := &kept[i].Value; len(one.Packs) > 0 {
			return one.Work
		}
	}
	return ""
}

// shared says which of new bodies several placements select that select not all alike.
func (l *Layout) shared(given map[string][]byte) func(digest string) bool {
	several, by := map[string]bool{}, map[string]uint64{}
	for i := range l.waiting {
		manifests := l.waiting[i].next.Manifests
		key := of64(manifests, nil)
		for j := range manifests {
			digest := manifests[j].Digest
			if _, isNew := given[digest]; !isNew {
				continue
			}
			if other, known := by[digest]; known && other != key {
				several[digest] = true
			}
			by[digest] = key
		}
	}
	return func(digest string) bool { return several[digest] }
}

func (l *Layout) lay(w *waiting, ahead *Ahead) error {
	next, stacks := w.next, l.Stacks.of(w.kept)
	earlier := worksOf(stacks)
	key := of64(next.Manifests, earlier)
	for _, same := range l.laid[key] {
		if slices.Equal(same.manifests, next.Manifests) && slices.Equal(same.earlier, earlier) {
			next.Work, next.Packs = same.work, slices.Clone(same.packs)
			return nil
		}
	}
	bundles := ahead.again(next, earlier)
	if bundles == nil {
		plan := l.Plan
		plan.Earlier = ahead.upon(next.Placement, stacks)
		var err error
		if bundles, err = plan.Bundles(next.Manifests); err != nil {
			return err
		}
		l.Plan.Spare = plan.Spare
		ahead.note(next.Placement, made{next.Manifests, earlier, bundles})
	}
	l.add(bundles)
	work := &bundles[len(bundles)-1]
	next.Work = work.Digest
	for i := range work.Work.Packs {
		next.Packs = append(next.Packs, work.Work.Packs[i].Digest)
	}
	if len(next.Packs) > 0 {
		l.Stacks.note(work.Digest, stackOf(work.Digest, &work.Work, 0))
	}
	if l.laid == nil {
		l.laid = map[uint64][]laid{}
	}
	l.laid[key] = append(l.laid[key], laid{next.Manifests, earlier, next.Work, slices.Clone(next.Packs)})
	return nil
}

// worksOf are the works of stacks, one stack behind the other.
func worksOf(stacks [][]content.Earlier) (works []string) {
	for _, stack := range stacks {
		for i := range stack {
			works = append(works, stack[i].Work)
		}
		works = append(works, "")
	}
	return works
}

// add adds bundles that were made; what several works name is there once.
func (l *Layout) add(made []content.Bundle) {
	if l.known == nil {
		l.known = map[string]bool{}
	}
	for i := range made {
		if !l.known[made[i].Digest] {
			l.known[made[i].Digest] = true
			l.bundles = append(l.bundles, made[i])
		}
	}
}

// check errs where a request has more laid out than others can wait for: before anything of it is read.
func (l *Layout) check() error {
	bytes := 0
	for i := range l.bundles {
		bytes += l.carries(&l.bundles[i])
	}
	if !l.Bounded || bytes <= mostLaid {
		return nil
	}
	return &api.Failure{
		Code: api.CodeTooLarge, Next: "flotilla apply --help",
		Message: fmt.Sprintf("%s of objects would be laid out anew for the placements that select them, at most %s in one request: apply fewer placements or documents at a time, "+
			"or select with several placements what one selects", api.Size(int64(bytes)), api.Size(mostLaid)),
	}
}

// carries is how many bytes of bodies a bundle carries at most.
func (l *Layout) carries(b *content.Bundle) (bytes int) {
	for i := range b.Work.Manifests {
		if m := &b.Work.Manifests[i]; m.Pack == 0 {
			bytes += l.Plan.Size(m.Manifest)
		}
	}
	return bytes
}

var seed = maphash.MakeSeed()

// of64 is the same for the same manifests upon the same works.
func of64(manifests []api.Manifest, earlier []string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range manifests {
		maphash.WriteComparable(&h, manifests[i])
	}
	for _, work := range earlier {
		maphash.WriteComparable(&h, work)
	}
	return h.Sum64()
}

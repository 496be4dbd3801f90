package census

import (
	"cmp"
	"slices"

	"flotilla/bus/watch"
	"flotilla/subjects"
)

// Book is what the ledger knows of state: each record that was stored, by key, with its revision.
type Book struct {
	// Tally is of the records; its at is the newest write that the ledger knows to be acknowledged.
	Tally Tally
	// Settled is the newest write that was acknowledged so long ago that no power cut takes it away.
	Settled uint64
	Records map[string]uint64
	// Whole says that the records are those of the tally: no part of the ledger is missing.
	Whole bool
}

// NewBook is empty, and whole.
func NewBook() Book { return Book{Records: map[string]uint64{}, Whole: true} }

// Note enters that a record was written or, with revision 0, deleted.
func (b *Book) Note(key string, revision uint64) {
	if !Counted(key) {
		return
	}
	if revision == 0 {
		delete(b.Records, key)
		return
	}
	b.Records[key] = revision
}

// Check sets whole.
func (b *Book) Check() {
	var t Tally
	for key, revision := range b.Records {
		t = t.Written(key, 0, revision)
	}
	b.Whole = t.Same(b.Tally)
}

// Damage says what state has lost: records that were stored and acknowledged. Keys are those of bucket
// state, sorted.
type Damage struct {
	// Gone are not there any more, Older have an older revision than was stored, Deleted are there again after
	// they were deleted.
	Gone, Older, Deleted []string
	// Unnamed is how many more are gone whose keys nobody knows.
	Unnamed int
	// After and UpTo bound the sequences of the newest writes, all of which are gone; 0: there are such
	// that are not.
	After, UpTo uint64
	// Lost is what the server says to have lost in damaged files.
	Lost Lost
	// Recent says that nothing is lost but the newest writes, and those were not yet on disk for good: a power
	// cut takes them, and the fleet goes on from what is left.
	Recent bool
	// Interrupted says that a restore was broken off.
	Interrupted bool
}

// Lost is what a server left out of damaged files: so many messages as it knows of, and all bytes of them.
type Lost struct {
	Messages int
	Bytes    uint64
}

// named says that the damage is known by name.
func (d *Damage) named() bool { return len(d.Gone)+len(d.Older)+len(d.Deleted) > 0 }

// judge compares what state holds with what its newest message and the ledger say of it, and returns nil when
// it is whole. settled is what a lease says, see book.settled.
func judge(cells map[string]watch.Cell, b *Book, settled uint64) *Damage {
	if mark, found := cells[subjects.RestoringKey]; found && !mark.Deleted {
		return &Damage{Interrupted: true}
	}
	claim, vouched := newestTally(cells)
	live := TallyOf(cells)
	known := max(b.Tally.At, settled)
	consistent := vouched && live.Same(claim)
	if consistent && claim.At >= known {
		return nil
	}
	d := b.compare(cells)
	switch {
	case consistent:
		d.After, d.UpTo = claim.At, known
		d.Recent = claim.At >= max(b.Settled, settled)
		return d
	case vouched:
		d.count(claim.Count, live.Count)
		return d
	case d.named():
		return d
	case live.At < known:
		d.After, d.UpTo = live.At, known
		return d
	}
	return nil // somebody else wrote last, and took nothing away
}

// newestTally is that of the newest message; false when it carries none.
func newestTally(cells map[string]watch.Cell) (Tally, bool) {
	var newest watch.Cell
	for _, c := range cells {
		if c.Sequence > newest.Sequence {
			newest = c
		}
	}
	return ParseTally(newest.Tally)
}

// compare names what differs from the book. What was written after it was is not held against it.
func (b *Book) compare(cells map[string]watch.Cell) *Damage {
	d := &Damage{}
	for key, revision := range b.Records {
		c, found := cells[key]
		switch {
		case found && (c.Sequence > b.Tally.At || !c.Deleted && c.Sequence == revision):
		case !found || c.Deleted:
			d.Gone = append(d.Gone, key)
		default:
			d.Older = append(d.Older, key)
		}
	}
	if b.Whole && len(b.Records) > 0 {
		for key, c := range cells {
			if _, known := b.Records[key]; !known && !c.Deleted && c.Sequence <= b.Tally.At && Counted(key) {
				d.Deleted = append(d.Deleted, key)
			}
		}
	}
	for _, keys := range [][]string{d.Gone, d.Older, d.Deleted} {
		slices.SortFunc(keys, cmp.Compare[string])
	}
	return d
}

// count notes how many records are gone beside those that are named, by how many there were and are.
func (d *Damage) count(were, are uint64) {
	lost := int64(were) - int64(are) + int64(len(d.Deleted)) - int64(len(d.Gone))
	d.Unnamed = int(max(lost, 0))
}

// Complete says that every record that is gone is named.
func (d *Damage) Complete() bool { return d.Unnamed == 0 && d.named() }

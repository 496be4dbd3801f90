package census

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"flotilla/bus/watch"
	"flotilla/subjects"
)

// Tally counts the records of state that are there, as text "<at>.<count>.<sum>": how many, and the sum, whatever their order, of a
// hash of each key with its revision. Each write carries the tally of all that is there once it is stored,
// so that the newest message vouches for every other one.
type Tally struct {
	At    uint64 // sequence of the newest write of a record that it knows of
	Count uint64
	sum   [2]uint64
}

// Counted says that the record of a key is part of tallies: all are but those that are written with each of them.
func Counted(key string) bool { return key != subjects.TermKey && key != subjects.TallyKey }

// Written returns the tally once a record was written or, with revision 0, deleted; before is the revision
// that it had, 0 when it was not there.
func (t Tally) Written(key string, before, revision uint64) Tally {
	if before > 0 {
		t.Count--
		t.toggle(key, before)
	}
	if revision > 0 {
		t.Count++
		t.toggle(key, revision)
	}
	return t
}

// toggle adds a record to the sum, or takes it out of it.
func (t *Tally) toggle(key string, revision uint64) {
	text := make([]byte, 0, 128)
	text = binary.BigEndian.AppendUint64(text, revision)
	digest := sha256.Sum256(append(text, key...))
	t.sum[0] ^= binary.BigEndian.Uint64(digest[:8])
	t.sum[1] ^= binary.BigEndian.Uint64(digest[8:16])
}

// Same says that both count the same records.
func (t Tally) Same(other Tally) bool { return t.Count == other.Count && t.sum == other.sum }

func (t Tally) String() string {
	return fmt.Sprintf("%d.%d.%016x%016x", t.At, t.Count, t.sum[0], t.sum[1])
}

// ParseTally reads what String wrote; false when it is something else.
func ParseTally(text string) (t Tally, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(parts[2]) != 32 {
		return t, false
	}
	for _, number := range []struct {
		text string
		base int
		into *uint64
	}{{parts[0], 10, &t.At}, {parts[1], 10, &t.Count}, {parts[2][:16], 16, &t.sum[0]}, {parts[2][16:], 16, &t.sum[1]}} {
		n, err := strconv.ParseUint(number.text, number.base, 64)
		if err != nil {
			return Tally{}, false
		}
		*number.into = n
	}
	return t, true
}

// TallyOf counts the records among cells, by key.
func TallyOf(cells map[string]watch.Cell) Tally {
	var t Tally
	for key, c := range cells {
		if !Counted(key) {
			continue
		}
		t.At = max(t.At, c.Sequence)
		if !c.Deleted {
			t = t.Written(key, 0, c.Sequence)
		}
	}
	return t
}

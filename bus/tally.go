package bus

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"flotilla/subjects"
)

// tally, as text "<at>.<count>.<sum>", counts the records of state that are there: how many, and the sum, whatever their order, of a
// hash of each key with its revision. Each write carries the tally of all that is there once it is stored,
// so that the newest message vouches for every other one.
type tally struct {
	at    uint64 // sequence of the newest write of a record that it knows of
	count uint64
	sum   [2]uint64
}

// counted says that the record of a key is part of tallies: all are but those that are written with each of them.
func counted(key string) bool { return key != subjects.TermKey && key != subjects.TallyKey }

// written returns the tally once a record was written or, with revision 0, deleted; before is the revision
// that it had, 0 when it was not there.
func (t tally) written(key string, before, revision uint64) tally {
	if before > 0 {
		t.count--
		t.toggle(key, before)
	}
	if revision > 0 {
		t.count++
		t.toggle(key, revision)
	}
	return t
}

// toggle adds a record to the sum, or takes it out of it.
func (t *tally) toggle(key string, revision uint64) {
	text := make([]byte, 0, 128)
	text = binary.BigEndian.AppendUint64(text, revision)
	digest := sha256.Sum256(append(text, key...))
	t.sum[0] ^= binary.BigEndian.Uint64(digest[:8])
	t.sum[1] ^= binary.BigEndian.Uint64(digest[8:16])
}

// same says that both count the same records.
func (t tally) same(other tally) bool { return t.count == other.count && t.sum == other.sum }

func (t tally) String() string {
	return fmt.Sprintf("%d.%d.%016x%016x", t.at, t.count, t.sum[0], t.sum[1])
}

// parseTally reads what String wrote; false when it is something else.
func parseTally(text string) (t tally, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(parts[2]) != 32 {
		return t, false
	}
	for _, number := range []struct {
		text string
		base int
		into *uint64
	}{{parts[0], 10, &t.at}, {parts[1], 10, &t.count}, {parts[2][:16], 16, &t.sum[0]}, {parts[2][16:], 16, &t.sum[1]}} {
		n, err := strconv.ParseUint(number.text, number.base, 64)
		if err != nil {
			return tally{}, false
		}
		*number.into = n
	}
	return t, true
}

// tallyOf counts the records among cells, by key.
func tallyOf(cells map[string]cell) tally {
	var t tally
	for key, c := range cells {
		if !counted(key) {
			continue
		}
		t.at = max(t.at, c.sequence)
		if !c.deleted {
			t = t.written(key, 0, c.sequence)
		}
	}
	return t
}

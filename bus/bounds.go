package bus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"flotilla/subjects"
)

// Bounds are those of one kind of JSON that somebody else wrote: they hold before anything is allocated
// for what it says. A few KiB can unpack to millions of values, each of which costs a struct.
type Bounds struct {
	bytes  int // unpacked
	depth  int // of objects and lists within each other
	length int // of one list or object
	values int // of all together
	gzip   int // size from which it is stored compressed; 0: GzipAbove
	text   int // of one string as it is written, in bytes; 0: as long as all may be
	// told says that a member tells it: what it says is shown beside what others say, and must be readable there.
	told bool
}

const (
	maxDepth = 64
	// maxText is that of what members tell of themselves and their nodes, where names, versions and reasons are the longest.
	maxText = 4 << 10
	// gzipNodesAbove is that of states of nodes, which are many and have a share.
	gzipNodesAbove = 4 << 10
)

// Bounds by what is read. What a hub wrote is bounded in bytes alone.
var (
	RecordBounds    = Bounds{bytes: 16 << 20}
	CommandBounds   = Bounds{bytes: MaxCommand}
	answerBounds    = Bounds{bytes: 64 << 20}
	requestBounds   = Bounds{bytes: 20 << 20, depth: 2 * maxDepth, length: 1 << 18, values: 2 << 20}
	HeartbeatBounds = Bounds{bytes: MaxHeartbeat, depth: maxDepth, length: 1 << 12, values: 1 << 14, told: true}
	ResultBounds    = Bounds{bytes: 1 << 20, depth: maxDepth, length: 1 << 12, values: 1 << 15, told: true}
	BatchBounds     = Bounds{bytes: 1 << 20, depth: 2 * maxDepth, length: 1 << 12, values: 1 << 17}
	NodeBounds      = Bounds{bytes: 4 << 20, depth: maxDepth, length: MaxPodsOfANode, values: 1 << 18, gzip: gzipNodesAbove, text: maxText, told: true}
	// 5,000 nodes and 10,000 pods that wait.
	InventoryBounds = Bounds{bytes: 32 << 20, depth: maxDepth, length: 1 << 14, values: 2 << 20, text: maxText, told: true}
	// MemberBounds are those of what upgrades depend on, which is stored as it is.
	MemberBounds = Bounds{bytes: MaxInventory, depth: maxDepth, length: 1 << 12, values: 1 << 15, gzip: MaxInventory, text: maxText, told: true}
)

// BoundsOf are those of what lies in a bucket or stream, by short name.
func BoundsOf(name string) Bounds {
	switch name {
	case subjects.Heartbeat:
		return HeartbeatBounds
	case subjects.Result:
		return ResultBounds
	case subjects.Events:
		return MemberBounds
	}
	return RecordBounds
}

// Pack returns the stored form of a value: as it is, or gzipped behind the byte packed. What its readers
// would refuse is refused.
func (b Bounds) Pack(value []byte) ([]byte, error) {
	if err := b.Check(value); err != nil || len(value) <= cmp.Or(b.gzip, GzipAbove) {
		return value, err
	}
	var out bytes.Buffer
	out.WriteByte(packed)
	if err := thorough.gzip(&out, value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Unpack returns the JSON of a stored value, or why it is beyond the bounds.
func (b Bounds) Unpack(stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != packed {
		return stored, b.Check(stored)
	}
	return b.gunzip(stored[1:])
}

func (b Bounds) gunzip(text []byte) ([]byte, error) {
	value, err := gunzip(text, b.bytes+1)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return value, b.Check(value)
}

// Start returns the first bytes of the JSON of a stored value, at most so many and unchecked; fewer where the rest
// cannot be unpacked.
func Start(stored []byte, most int) []byte {
	if len(stored) == 0 || stored[0] != packed {
		return stored[:min(len(stored), most)]
	}
	value, _ := gunzip(stored[1:], most)
	return value
}

// Check looks at JSON in one pass. What is no JSON is for its decoder to refuse.
func (b Bounds) Check(text []byte) error {
	if len(text) > b.bytes {
		return Beyond("more than %d bytes", b.bytes)
	}
	if b.values == 0 {
		return nil
	}
	s := boundScan{Bounds: b}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end := endOfString(text, i)
			if b.text > 0 && end-i-1 > b.text {
				return Beyond("a text of more than %d bytes", b.text)
			}
			if b.told && end < len(text) {
				if err := readable(text[i : end+1]); err != nil {
					return err
				}
			}
			i = end
		case '{', '[', ',', '}', ']':
			if err := s.mark(text[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Beyond is ErrTooLarge with the limit that was passed.
func Beyond(format string, limit int) error {
	return fmt.Errorf("%w: "+format, ErrTooLarge, limit)
}

// readable finds times that are written in the last year that is, or the first, and are none of it in UTC, where they are written in five digits or
// below zero: nobody reads those.
func readable(quoted []byte) error {
	const begins = len(`"9999-`) // an offset may be longer than a day
	begin := quoted[:min(len(quoted), begins)]
	if bytes.IndexByte(quoted[:min(len(quoted), len(`\u0030`)*begins)], '\\') < 0 && !bytes.Equal(begin, []byte(`"9999-`)) && !bytes.Equal(begin, []byte(`"0000-`)) {
		return nil
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil // for its decoder to refuse
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if year := at.UTC().Year(); err == nil && (year < 0 || year > 9999) {
		return fmt.Errorf("found the time %s, which is in the year %d in UTC, expected one from 0 to 9999", text, year)
	}
	return nil
}

// endOfString is where the quote is that ends the string which begins at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// boundScan counts values while a text is read.
type boundScan struct {
	Bounds
	depthNow, valuesNow int
	lengths             [2*maxDepth + 1]int // of the lists and objects that are open
}

func (s *boundScan) mark(c byte) error {
	switch c {
	case '{', '[':
		if s.depthNow == s.depth {
			return Beyond("nested more than %d deep", s.depth)
		}
		s.depthNow++
		s.lengths[s.depthNow] = 1
		s.valuesNow++
	case ',':
		s.lengths[s.depthNow]++
		s.valuesNow++
	default:
		s.depthNow = max(0, s.depthNow-1)
	}
	if s.lengths[s.depthNow] > s.length {
		return Beyond("a list or object of more than %d", s.length)
	}
	if s.valuesNow > s.values {
		return Beyond("more than %d values", s.values)
	}
	return nil
}

package bus

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"flotilla/subjects"

	"github.com/klauspost/compress/gzip"
)

// bounds are those of one kind of JSON that somebody else wrote: they hold before anything is allocated
// for what it says. A few KiB can unpack to millions of values, each of which costs a struct.
type bounds struct {
	bytes  int // unpacked
	depth  int // of objects and lists within each other
	length int // of one list or object
	values int // of all together
	gzip   int // size from which it is stored compressed; 0: GzipAbove
}

const (
	maxDepth = 64
	// gzipNodesAbove is that of states of nodes, which are many and have a share.
	gzipNodesAbove = 4 << 10
)

// Bounds by what is read. What a hub wrote is bounded in bytes alone.
var (
	recordBounds    = bounds{bytes: 16 << 20}
	commandBounds   = bounds{bytes: 8 << 20}
	answerBounds    = bounds{bytes: 64 << 20}
	requestBounds   = bounds{bytes: 20 << 20, depth: 2 * maxDepth, length: 1 << 18, values: 2 << 20}
	heartbeatBounds = bounds{bytes: MaxHeartbeat, depth: maxDepth, length: 1 << 12, values: 1 << 14}
	resultBounds    = bounds{bytes: 1 << 20, depth: maxDepth, length: 1 << 12, values: 1 << 15}
	batchBounds     = bounds{bytes: 1 << 20, depth: 2 * maxDepth, length: 1 << 12, values: 1 << 17}
	nodeBounds      = bounds{bytes: 4 << 20, depth: maxDepth, length: MaxPodsOfANode, values: 1 << 18, gzip: gzipNodesAbove}
	// 5,000 nodes and 10,000 pods that wait.
	inventoryBounds = bounds{bytes: 32 << 20, depth: maxDepth, length: 1 << 14, values: 2 << 20}
)

// boundsOf are those of what lies in a bucket or stream, by short name.
func boundsOf(name string) bounds {
	switch name {
	case subjects.Heartbeat:
		return heartbeatBounds
	case subjects.Result:
		return resultBounds
	case subjects.Events:
		return inventoryBounds
	}
	return recordBounds
}

// pack returns the stored form of a value: as it is, or gzipped behind the byte packed. What its readers
// would refuse is refused.
func (b bounds) pack(value []byte) ([]byte, error) {
	if err := b.check(value); err != nil || len(value) <= cmp.Or(b.gzip, GzipAbove) {
		return value, err
	}
	var out bytes.Buffer
	out.WriteByte(packed)
	if err := gzipTo(&out, value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unpack returns the JSON of a stored value, or why it is beyond the bounds.
func (b bounds) unpack(stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != packed {
		return stored, b.check(stored)
	}
	return b.gunzip(stored[1:])
}

func (b bounds) gunzip(text []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	value, err := io.ReadAll(io.LimitReader(r, int64(b.bytes)+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return value, b.check(value)
}

// check looks at JSON in one pass. What is no JSON is for its decoder to refuse.
func (b bounds) check(text []byte) error {
	if len(text) > b.bytes {
		return beyond("more than %d bytes", b.bytes)
	}
	if b.values == 0 {
		return nil
	}
	s := boundScan{bounds: b}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '{', '[', ',', '}', ']':
			if err := s.mark(text[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func beyond(format string, limit int) error {
	return fmt.Errorf("%w: "+format, ErrTooLarge, limit)
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
	bounds
	depthNow, valuesNow int
	lengths             [2*maxDepth + 1]int // of the lists and objects that are open
}

func (s *boundScan) mark(c byte) error {
	switch c {
	case '{', '[':
		if s.depthNow == s.depth {
			return beyond("nested more than %d deep", s.depth)
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
		return beyond("a list or object of more than %d", s.length)
	}
	if s.valuesNow > s.values {
		return beyond("more than %d values", s.values)
	}
	return nil
}

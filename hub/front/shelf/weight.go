package shelf

import (
	"math/bits"

	"flotilla/hub/front/extent"
)

// What values take in memory, in bytes, on a machine of 64 bits. A map has one group of entries, which is there with the first of them; where it
// has more entries than that has room for, its groups are a power of two, and seven eighths full at most.
const (
	groupBytes   = 264
	inGroup      = 8
	mapBytes     = 48
	sliceBytes   = 24
	anyBytes     = 16
	perAllocated = 8
	leanBytes    = 416 // of an item beside its text
)

// scale weighs JSON as it goes through it.
type scale struct {
	sum  int64
	open []int // of what has begun and not ended, the innermost last: the entries of a map with the one that comes, or aList
}

const aList = -1

// weigh is about how many bytes of memory an object takes once it is decoded: of many small fields that is up to fifty times its text.
func weigh(text []byte) int64 {
	s := scale{}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			s.begin(1, mapBytes)
			if i+1 < len(text) && text[i+1] != '}' {
				s.sum += groupBytes
			}
		case '[':
			s.begin(aList, sliceBytes+anyBytes)
		case '}', ']':
			s.open = s.open[:max(len(s.open)-1, 0)]
		case ',':
			s.next()
		case '"':
			end := extent.EndOf(text, i)
			if s.sum += int64(perAllocated + end - i); end+1 < len(text) && text[end+1] != ':' {
				s.sum += anyBytes // it is no key
			}
			i = end
		default:
			s.sum += perAllocated / 4 // of what is no text there are some bytes
		}
	}
	return s.sum
}

func (s *scale) begin(what int, bytes int64) {
	s.open = append(s.open, what)
	s.sum += bytes
}

// next has an entry follow in what is open.
func (s *scale) next() {
	if len(s.open) == 0 {
		return
	}
	entries := &s.open[len(s.open)-1]
	if *entries == aList {
		s.sum += anyBytes
		return
	}
	*entries++
	s.sum += groupBytes * int64(groups(*entries)-groups(*entries-1))
}

// groups are how many a map of so many entries has.
func groups(entries int) int {
	if entries <= inGroup {
		return 1
	}
	return 1 << bits.Len(uint((entries-1)/(inGroup-1)))
}

// labelBytes is how much memory the labels of a heading take.
func (h *Heading) labelBytes() (sum int64) {
	if len(h.Labels) > 0 {
		sum = mapBytes + groupBytes*int64(groups(len(h.Labels)))
	}
	for key, value := range h.Labels {
		sum += int64(len(key) + len(value) + 2*perAllocated)
	}
	return sum
}

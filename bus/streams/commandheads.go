package streams

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"flotilla/bus"
	"flotilla/core/api"

	"github.com/nats-io/nats.go"
)

// message is the head of one that is stored.
type message struct {
	sequence uint64
	header   nats.Header
}

// chain is what is stored of one command: it whole, and its changes by slot.
type chain struct {
	whole   *message
	changes []*message
}

type address struct{ member, kind string }

// stored are the commands of members.
type stored map[address]*chain

func (s stored) of(member, kind string) *chain {
	at := address{member, kind}
	if s[at] == nil {
		s[at] = &chain{}
	}
	return s[at]
}

func (c *chain) change(slot int, m *message) {
	for len(c.changes) <= slot {
		c.changes = append(c.changes, nil)
	}
	c.changes[slot] = m
}

// heads are those of all commands, sorted by member and kind.
func (s stored) heads() []CommandHead {
	var heads []CommandHead
	for at, c := range s {
		heads = append(heads, c.head(at))
	}
	slices.SortFunc(heads, func(a, b CommandHead) int {
		return cmp.Or(strings.Compare(a.Member, b.Member), strings.Compare(a.Kind, b.Kind))
	})
	return heads
}

// head follows the changes of what is stored whole. Where one is missing, what the command asks for is not known, but the
// newest order that was given is.
func (c *chain) head(at address) CommandHead {
	h := CommandHead{Member: at.member, Kind: at.kind}
	if c.whole != nil {
		h = headOf(at.member, at.kind, *c.whole)
	}
	missing := c.whole == nil
	next := h.Position
	for slot, m := range c.changes {
		if m == nil {
			missing = true
			continue
		}
		if order := parseOrder(m.header.Get(headerOrder)); order.Compare(h.Order) > 0 {
			h.Order = order
		}
		next.Number = slot + 1
		switch {
		case m.header.Get(bus.HeaderPosition) != next.String(): // of another base
			missing = true
		case missing:
			h.Digest = ""
		default:
			h.Digest, h.Position, h.Newest = m.header.Get(headerDigest), next, m.sequence
		}
	}
	return h
}

// headOf reads the headers of a command that is stored whole; one that cannot be read has no digest and the lowest order.
func headOf(member, kind string, m message) CommandHead {
	order := parseOrder(m.header.Get(headerOrder))
	return CommandHead{
		Member: member, Kind: kind, Sequence: m.sequence, Newest: m.sequence,
		Digest: m.header.Get(headerDigest), Order: order, Position: api.IndexPosition{Base: order},
	}
}

func parseOrder(s string) api.Order {
	var numbers [3]uint64
	for i, part := range strings.SplitN(s, ".", 3) {
		numbers[i], _ = strconv.ParseUint(part, 10, 64)
	}
	return api.Order{Epoch: numbers[0], Term: numbers[1], Generation: numbers[2]}
}

package gate

import (
	"container/heap"
	"container/list"
	"net/netip"
)

// crowd are the connections of some holders.
type crowd struct {
	of   map[string]*holder // none without a connection
	most ranking
	open int
	// joined counts how often a connection became a holder's, of all crowds of a gate.
	joined *uint64
}

// holder is whoever has connections, the oldest first.
type holder struct {
	crowd *crowd
	name  string
	rank  int        // in the ranking
	all   *list.List // of *guest
}

func newCrowd(joined *uint64) crowd { return crowd{of: map[string]*holder{}, joined: joined} }

// join has a connection be one of a holder's.
func (c *crowd) join(g *guest, name string) {
	h := c.of[name]
	if h == nil {
		h = &holder{crowd: c, name: name, all: list.New()}
		c.of[name] = h
		h.add(g)
		heap.Push(&c.most, h)
		return
	}
	h.add(g)
	heap.Fix(&c.most, h.rank)
}

func (h *holder) add(g *guest) {
	*h.crowd.joined++
	g.in, g.at, g.number = h, h.all.PushBack(g), *h.crowd.joined
	h.crowd.open++
}

// leave has a connection be nobody's.
func (h *holder) leave(g *guest) {
	if h.all.Len() == 1 {
		heap.Remove(&h.crowd.most, h.rank)
		delete(h.crowd.of, h.name)
	}
	h.all.Remove(g.at)
	g.in, g.at = nil, nil
	h.crowd.open--
	if h.all.Len() > 0 {
		heap.Fix(&h.crowd.most, h.rank)
	}
}

func (h *holder) oldest() *guest { return h.all.Front().Value.(*guest) }

// ranking is a heap of holders: first the one with most connections, and of several the one whose oldest came first.
type ranking []*holder

func (r ranking) Len() int { return len(r) }

func (r ranking) Less(i, j int) bool {
	a, b := r[i], r[j]
	if a.all.Len() != b.all.Len() {
		return a.all.Len() > b.all.Len()
	}
	return a.oldest().number < b.oldest().number
}

func (r ranking) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].rank, r[j].rank = i, j
}

// Push adds a holder; heap calls it.
func (r *ranking) Push(added any) {
	h := added.(*holder)
	h.rank = len(*r)
	*r = append(*r, h)
}

// Pop takes the last holder; heap calls it.
func (r *ranking) Pop() any {
	last := len(*r) - 1
	h := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return h
}

// Network is what an address, "10.1.2.3:443", counts as: all addresses of an IPv6 network of 64 bits are one site's.
func Network(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	host := at.Addr().Unmap().WithZone("")
	if within, err := host.Prefix(64); err == nil && host.Is6() {
		return within.String()
	}
	return host.String()
}

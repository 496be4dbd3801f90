package simulate

import "fmt"

// Work is what one decision takes, in nanoseconds that are estimated from what it compares. It reads no clock, so that
// equal states give equal decisions. It is bounded: what a member states of its nodes and pods must not hold up the
// decisions about others for minutes.
type Work struct {
	spent int64
	next  int64 // when it is looked at again
	ended func() bool
	gone  bool // nobody waits
	over  bool // it took more than mostSpent
}

const (
	// mostSpent is what one decision may take: fifteen seconds.
	mostSpent = 15_000_000_000
	// oneLook is how much work lies between two looks at it.
	oneLook = 1_000_000
)

// What the steps of a decision take, as they were measured once on a server of 2025: each a little more than it takes
// there, as what is counted beside it leaves something out.
const (
	aNode    = 1000 // laying out a node
	aPod     = 300  // laying out a pod, or putting it in order
	aPlace   = 600  // looking for a place for a pod
	aFailure = 600  // telling of a pod that has none
	aLook    = 5    // comparing a pod with what a node has free, or with one more resource
	aTry     = 40   // comparing a pod with all else about a node
	aTaint   = 2    // a toleration with a taint
	aNeed    = 30   // a demand with a label
	aPort    = 50   // a port with those of a node
	aVolume  = 150  // a volume with those of a node
	aGroup   = 60   // asking a group about a domain
	aCount   = 25   // reading or changing what a group counts in a domain
	aSelect  = 60   // holding one requirement of a selector against a pod
	aSpace   = 3    // a namespace with that of a pod
	aType    = 40   // comparing a pod with an instance type
	aPool    = 1500 // beginning a new node of a pool
	aText    = 300  // writing a part of a message
	aDaemon  = 800  // finding out whether a daemon comes with a node
)

func newWork(ended func() bool) *Work {
	w := &Work{ended: ended}
	w.look()
	return w
}

// Spend counts work.
func (w *Work) Spend(n int) {
	if w.spent += int64(n); w.spent >= w.next {
		w.look()
	}
}

func (w *Work) look() {
	w.next = w.spent + oneLook
	w.over = w.over || w.spent > mostSpent
	w.gone = w.gone || w.ended != nil && w.ended()
}

// Spent is the work so far.
func (w *Work) Spent() int64 { return w.spent }

// Stopped reports whether the decision is given up: no more is worth doing for it.
func (w *Work) Stopped() bool { return w.gone || w.over }

// Gone reports whether it is given up as nobody waits for it.
func (w *Work) Gone() bool { return w.gone }

// Tangled says why nothing can be simulated, empty when everything can.
func (x *Index) Tangled() string {
	switch {
	case x.made > mostMade || x.asked > mostAsked:
		return "the pods of the member keep each other near or away in more ways than are followed"
	case x.over:
		c, pods := x.State.Cluster, 0
		for _, n := range c.Nodes {
			pods += len(n.Pods)
		}
		return fmt.Sprintf("the decision about the member compares more than is followed: %d nodes, %d pods on them and %d pods without one", len(c.Nodes), pods, len(c.Pending))
	}
	return ""
}

// tryCost is what it takes to compare a pod with all about a node but its room and its topology.
func tryCost(n *ExistingNode, m *Moving, v *Variant) int {
	return aTry + aTaint*len(n.taints)*len(v.tolerations) + aPort*len(m.State.Ports) + aVolume*len(m.State.Volumes) + aNeed*len(v.needs)
}

// needsCost is what it takes to restrict a new node further.
func needsCost(have, more int) int { return more * (4*aNeed + aNeed*have/2) }

// cost is what it takes to find out whether a node counts.
func (f *filter) cost() int {
	out := aTaint * len(f.tolerations)
	for _, t := range f.terms {
		out += aNeed * len(t)
	}
	return out
}

package simulate

// Work is what one decision takes, in nanoseconds that are estimated from what it compares: it reads no clock.
type Work struct {
	spent int64
	next  int64 // when it is asked again whether anybody waits
	ended func() bool
	gone  bool // nobody waits
}

// oneLook is how much work lies between two looks at whether anybody waits.
const oneLook = 1_000_000

// What the steps of a decision take.
const (
	aNode  = 1000 // laying out a node
	aPod   = 300  // laying out a pod
	aPlace = 1000 // looking for a place for a pod
	aLook  = 5    // comparing a pod with what a node has free
	aTry   = 50   // comparing a pod with all else about a node
	aType  = 50   // comparing a pod with an instance type
	aPool  = 1000 // beginning a new node of a pool
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
	w.gone = w.gone || w.ended != nil && w.ended()
}

// Stopped reports whether the decision is given up: no more is worth doing for it.
func (w *Work) Stopped() bool { return w.gone }

// Gone reports whether it is given up as nobody waits for it.
func (w *Work) Gone() bool { return w.gone }

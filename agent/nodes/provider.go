package nodes

import (
	"context"
	"fmt"

	"flotilla/core/api"
)

// Holder is a Provider of a cluster in which somebody else decides about nodes too.
type Holder interface {
	// Hold has them disrupt no node by themselves. It is called again and again, since others may undo it.
	Hold(ctx context.Context) error
	// Release gives back what Hold took.
	Release(ctx context.Context) error
}

// Provider makes and takes away the machines of nodes. Its methods are called at once from several
// goroutines, never twice at once for one launch or one machine. An error says that the answer is not
// known; the provider is asked again, with growing delays. It bounds by itself how long an answer takes.
type Provider interface {
	fmt.Stringer
	// Launch makes the machine of a new node, or finds the one that was made for a launch of the same
	// name, by an earlier process of the agent too. It returns once the provider has taken it on; the
	// Node may come later. LaunchedNode.Failed says that there will be none.
	Launch(ctx context.Context, l api.NodeLaunch) (api.LaunchedNode, error)
	// Delete has a machine taken away, and reports whether it is gone; until then it is asked again. A
	// machine that is not known is gone, and the name of its launch launches nothing any more.
	Delete(ctx context.Context, m api.NodeMachine) (gone bool, err error)
	// Gone reports whether there is no such machine, without touching it. A provider that cannot tell
	// says false.
	Gone(ctx context.Context, m api.NodeMachine) (bool, error)
}

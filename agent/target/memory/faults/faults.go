// Package faults is what may be wrong with a member in memory, on request, and how people write it.
package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// Faults are what is wrong with a member, on request. The zero value is nothing.
type Faults struct {
	// Down makes every call fail as if the API server could not be reached.
	Down bool
	// Slow is how much longer each write takes.
	Slow time.Duration
	// Fail lists kinds ("Deployment") or objects ("Deployment/shop/web") that cannot be written.
	Fail []string
	// Stuck lists kinds or objects that never become available.
	Stuck []string
	// Off makes the member one that is powered off: Down, and its provider says so.
	Off bool
	// Busy names an operation of somebody else that runs on the member.
	Busy string
	// NotReady lists nodes that are not ready.
	NotReady []string
	// FailUpgrade and HangUpgrade list upgrades that fail, and that stand still while they are listed.
	FailUpgrade, HangUpgrade []Upgrade
	// FailLaunch lists launches of nodes that fail for good. While they are listed, those of HangLaunch
	// show no node, and nodes of NeverReady do not become ready.
	FailLaunch, HangLaunch, NeverReady []Launch
	// Lost lists nodes whose machines vanish; taking a node off the list does not bring its machine back.
	Lost []string
	// Drifted lists nodes that Karpenter finds drifted, by the condition of a NodeClaim.
	Drifted []Drift
}

// Upgrade says which upgrades, or which step of them, a fault is for.
type Upgrade struct {
	// What is any, a type of upgrades, controlPlane, or the name of a node pool.
	What string
	// Attempt is the only one the fault is for; 0 means all.
	Attempt int
}

// String writes the fault as Parse reads it, "np1@2".
func (f Upgrade) String() string { return numbered(f.What, f.Attempt) }

// Launch says which launches of nodes a fault is for.
type Launch struct {
	// What is any, a NodePool or an instance type.
	What string
	// Nth is the only launch of What that the fault is for, from 1; 0 means all.
	Nth int
}

// String writes the fault as Parse reads it, "general@2".
func (f Launch) String() string { return numbered(f.What, f.Nth) }

// Drift says that Karpenter finds a node drifted.
type Drift struct {
	Node string
	// Reason of the condition, "Drifted" when empty.
	Reason string
}

// String writes the fault as Parse reads it, "n1:ImageDrifted".
func (f Drift) String() string {
	if f.Reason == "" {
		return f.Node
	}
	return f.Node + ":" + f.Reason
}

func numbered(what string, n int) string {
	if n == 0 {
		return what
	}
	return fmt.Sprintf("%s@%d", what, n)
}

// Clone copies the lists, so that later changes by the caller do not matter.
func (f Faults) Clone() Faults {
	for _, list := range []*[]string{&f.Fail, &f.Stuck, &f.NotReady, &f.Lost} {
		*list = slices.Clone(*list)
	}
	for _, list := range []*[]Launch{&f.FailLaunch, &f.HangLaunch, &f.NeverReady} {
		*list = slices.Clone(*list)
	}
	f.FailUpgrade, f.HangUpgrade, f.Drifted = slices.Clone(f.FailUpgrade), slices.Clone(f.HangUpgrade), slices.Clone(f.Drifted)
	return f
}

// Fails reports whether an object cannot be written.
func (f *Faults) Fails(ref api.ObjectRef) bool { return named(f.Fail, ref) }

// StuckAt reports whether an object never becomes available.
func (f *Faults) StuckAt(ref api.ObjectRef) bool { return named(f.Stuck, ref) }

func named(list []string, ref api.ObjectRef) bool {
	return slices.Contains(list, ref.Kind) || slices.Contains(list, ref.String())
}

// HitsUpgrade reports whether a list is for an upgrade, or the step of it.
func HitsUpgrade(list []Upgrade, op *api.UpgradeOperation, step string) bool {
	return slices.ContainsFunc(list, func(f Upgrade) bool {
		return (f.What == "any" || f.What == op.Type || f.What == step) && (f.Attempt == 0 || f.Attempt == op.Attempt)
	})
}

// HitsLaunch returns the fault of a list that is for a launch, nil when none is; by says the how manieth it is of any, of
// its NodePool and of its instance type.
func HitsLaunch(list []Launch, by map[string]int) *Launch {
	for i := range list {
		if n, is := by[list[i].What]; is && (list[i].Nth == 0 || list[i].Nth == n) {
			return &list[i]
		}
	}
	return nil
}

// String writes the faults as Parse reads them, separated by spaces; "none" when there are none.
func (f Faults) String() string {
	var words []string
	for _, form := range forms {
		for _, value := range form.texts(&f) {
			if value != "" {
				value = "=" + value
			}
			words = append(words, form.name+value)
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}

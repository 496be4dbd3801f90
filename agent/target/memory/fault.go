package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flotilla/agent/target"
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
	FailUpgrade, HangUpgrade []UpgradeFault
	// FailLaunch lists launches of nodes that fail for good. While they are listed, those of HangLaunch
	// show no node, and nodes of NeverReady do not become ready.
	FailLaunch, HangLaunch, NeverReady []LaunchFault
	// Lost lists nodes whose machines vanish; taking a node off the list does not bring its machine back.
	Lost []string
	// Drifted lists nodes that Karpenter finds drifted, by the condition of a NodeClaim.
	Drifted []DriftFault
}

// FaultForms says how faults are written, for the help of flags and for errors.
const FaultForms = "down, off, slow=DURATION, fail=KIND[/NAMESPACE/NAME], stuck=KIND[/NAMESPACE/NAME], not-ready=NODE, lost=NODE, drifted=NODE[:REASON], busy=OPERATION, " +
	"fail-launch=LAUNCH[@N], hang-launch=LAUNCH[@N], never-ready=LAUNCH[@N], LAUNCH being any, a NodePool or an instance type, " +
	"fail-upgrade=WHAT[@ATTEMPT] or hang-upgrade=WHAT[@ATTEMPT], WHAT being any, Full, ControlPlaneOnly, NodeImageOnly, controlPlane or a node pool"

// UpgradeFault says which upgrades, or which step of them, a fault is for.
type UpgradeFault struct {
	// What is any, a type of upgrades, controlPlane, or the name of a node pool.
	What string
	// Attempt is the only one the fault is for; 0 means all.
	Attempt int
}

// String writes the fault as ParseFaults reads it, "np1@2".
func (f UpgradeFault) String() string {
	if f.Attempt == 0 {
		return f.What
	}
	return fmt.Sprintf("%s@%d", f.What, f.Attempt)
}

// parseNumbered reads "WHAT" and "WHAT@2"; the number, of what it counts, is 0 when there is none.
func parseNumbered(word, value, counts string) (what string, n int, err error) {
	what, number, limited := strings.Cut(value, "@")
	if limited {
		if n, err = strconv.Atoi(number); err != nil || n < 1 {
			return "", 0, fmt.Errorf("fault %q: %q is not %s, a number from 1", word, number, counts)
		}
	}
	if what == "" {
		return "", 0, fmt.Errorf("fault %q: expected %s", word, FaultForms)
	}
	return what, n, nil
}

// ParseFaults reads faults as people write them: "down", "slow=2s", "fail=Deployment",
// "stuck=Deployment/shop/web", "fail-upgrade=np1@1".
func ParseFaults(words []string) (Faults, error) {
	var f Faults
	for _, word := range words {
		name, value, valued := strings.Cut(word, "=")
		read, known := faultForms[name]
		if !known || valued != (value != "") || valued != read.valued {
			return Faults{}, fmt.Errorf("fault %q: expected %s", word, FaultForms)
		}
		if err := read.into(&f, word, value); err != nil {
			return Faults{}, err
		}
	}
	return f, nil
}

// faultForm is how one kind of fault is read.
type faultForm struct {
	valued bool
	into   func(f *Faults, word, value string) error
}

var faultForms = map[string]faultForm{
	"down":         {false, func(f *Faults, _, _ string) error { f.Down = true; return nil }},
	"off":          {false, func(f *Faults, _, _ string) error { f.Off = true; return nil }},
	"slow":         {true, readSlow},
	"busy":         {true, func(f *Faults, _, value string) error { f.Busy = value; return nil }},
	"fail":         {true, func(f *Faults, _, value string) error { f.Fail = append(f.Fail, value); return nil }},
	"stuck":        {true, func(f *Faults, _, value string) error { f.Stuck = append(f.Stuck, value); return nil }},
	"not-ready":    {true, func(f *Faults, _, value string) error { f.NotReady = append(f.NotReady, value); return nil }},
	"lost":         {true, func(f *Faults, _, value string) error { f.Lost = append(f.Lost, value); return nil }},
	"drifted":      {true, readDrift},
	"fail-launch":  {true, func(f *Faults, word, value string) error { return readLaunch(&f.FailLaunch, word, value) }},
	"hang-launch":  {true, func(f *Faults, word, value string) error { return readLaunch(&f.HangLaunch, word, value) }},
	"never-ready":  {true, func(f *Faults, word, value string) error { return readLaunch(&f.NeverReady, word, value) }},
	"fail-upgrade": {true, func(f *Faults, word, value string) error { return readUpgrade(&f.FailUpgrade, word, value) }},
	"hang-upgrade": {true, func(f *Faults, word, value string) error { return readUpgrade(&f.HangUpgrade, word, value) }},
}

func readSlow(f *Faults, word, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return fmt.Errorf("fault %q: %q is not a duration such as 2s", word, value)
	}
	f.Slow = d
	return nil
}

func readUpgrade(into *[]UpgradeFault, word, value string) error {
	what, n, err := parseNumbered(word, value, "an attempt")
	if err == nil {
		*into = append(*into, UpgradeFault{What: what, Attempt: n})
	}
	return err
}

// String writes the faults as ParseFaults reads them, separated by spaces; "none" when there are none.
func (f Faults) String() string {
	var words []string
	add := func(name string, values ...string) {
		for _, value := range values {
			words = append(words, name+"="+value)
		}
	}
	if f.Down {
		words = append(words, "down")
	}
	if f.Off {
		words = append(words, "off")
	}
	if f.Slow > 0 {
		add("slow", f.Slow.String())
	}
	add("fail", f.Fail...)
	add("stuck", f.Stuck...)
	add("not-ready", f.NotReady...)
	add("lost", f.Lost...)
	add("drifted", texts(f.Drifted)...)
	if f.Busy != "" {
		add("busy", f.Busy)
	}
	add("fail-launch", texts(f.FailLaunch)...)
	add("hang-launch", texts(f.HangLaunch)...)
	add("never-ready", texts(f.NeverReady)...)
	add("fail-upgrade", texts(f.FailUpgrade)...)
	add("hang-upgrade", texts(f.HangUpgrade)...)
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}

func texts[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].String()
	}
	return out
}

// clone copies the lists, so that later changes by the caller do not matter.
func (f Faults) clone() Faults {
	f.Fail, f.Stuck, f.NotReady = slices.Clone(f.Fail), slices.Clone(f.Stuck), slices.Clone(f.NotReady)
	f.FailUpgrade, f.HangUpgrade = slices.Clone(f.FailUpgrade), slices.Clone(f.HangUpgrade)
	f.FailLaunch, f.HangLaunch, f.NeverReady = slices.Clone(f.FailLaunch), slices.Clone(f.HangLaunch), slices.Clone(f.NeverReady)
	f.Lost, f.Drifted = slices.Clone(f.Lost), slices.Clone(f.Drifted)
	return f
}

func named(list []string, ref api.ObjectRef) bool {
	return slices.Contains(list, ref.Kind) || slices.Contains(list, ref.String())
}

func (f Faults) stuck(ref api.ObjectRef) bool { return named(f.Stuck, ref) }

// SetFaults makes the member have these faults and no others; Faults{} heals it.
func (m *Member) SetFaults(f Faults) {
	m.mu.Lock()
	defer m.unlock()
	m.faults = f.clone()
	m.noteDrift()
	for _, s := range m.sorted() {
		m.assignAddress(s)
	}
	for _, n := range m.nodes {
		m.judge(n)
	}
	m.pass()
	m.notify(target.Change{Health: true, Nodes: true, Pods: true})
	for owner := range m.owners {
		m.notify(target.Change{Owners: []string{owner}})
	}
	m.unpark()
	m.resume()
}

// down is the error of every call while the member is down.
func (m *Member) down() error {
	if m.faults.Down || m.faults.Off {
		return apierrors.NewServiceUnavailable("the API server of member " + m.name + " does not answer")
	}
	return nil
}

// hinder lets a write wait and fail as the faults say.
func (m *Member) hinder(ctx context.Context, ref api.ObjectRef) error {
	m.mu.Lock()
	faults := m.faults
	m.unlock()
	if faults.Slow > 0 {
		over := make(chan struct{})
		stop := m.clock.AfterFunc(faults.Slow, func() { close(over) })
		defer stop()
		select {
		case <-ctx.Done():
			return fmt.Errorf("writing %s: %w", ref, ctx.Err())
		case <-over:
		}
	}
	m.mu.Lock()
	defer m.unlock()
	if err := m.down(); err != nil {
		return err
	}
	if named(m.faults.Fail, ref) {
		return apierrors.NewForbidden(target.GroupResource(ref), ref.Name, fmt.Errorf("member %s refuses %s on request", m.name, ref))
	}
	return nil
}

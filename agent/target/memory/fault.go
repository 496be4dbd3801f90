package memory

import (
	"context"
	"fmt"
	"slices"
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
}

// FaultForms says how faults are written, for the help of flags and for errors.
const FaultForms = "down, slow=DURATION, fail=KIND[/NAMESPACE/NAME] or stuck=KIND[/NAMESPACE/NAME]"

// ParseFaults reads faults as people write them: "down", "slow=2s", "fail=Deployment",
// "stuck=Deployment/shop/web".
func ParseFaults(words []string) (Faults, error) {
	var f Faults
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case name == "down" && value == "":
			f.Down = true
		case name == "slow" && value != "":
			d, err := time.ParseDuration(value)
			if err != nil || d < 0 {
				return Faults{}, fmt.Errorf("fault %q: %q is not a duration such as 2s", word, value)
			}
			f.Slow = d
		case name == "fail" && value != "":
			f.Fail = append(f.Fail, value)
		case name == "stuck" && value != "":
			f.Stuck = append(f.Stuck, value)
		default:
			return Faults{}, fmt.Errorf("fault %q: expected %s", word, FaultForms)
		}
	}
	return f, nil
}

// String writes the faults as ParseFaults reads them, separated by spaces; "none" when there are none.
func (f Faults) String() string {
	var words []string
	if f.Down {
		words = append(words, "down")
	}
	if f.Slow > 0 {
		words = append(words, "slow="+f.Slow.String())
	}
	for _, what := range f.Fail {
		words = append(words, "fail="+what)
	}
	for _, what := range f.Stuck {
		words = append(words, "stuck="+what)
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}

func named(list []string, ref api.ObjectRef) bool {
	return slices.Contains(list, ref.Kind) || slices.Contains(list, ref.String())
}

func (f Faults) stuck(ref api.ObjectRef) bool { return named(f.Stuck, ref) }

// SetFaults makes the member have these faults and no others; Faults{} heals it.
func (m *Member) SetFaults(f Faults) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = Faults{Down: f.Down, Slow: f.Slow, Fail: slices.Clone(f.Fail), Stuck: slices.Clone(f.Stuck)}
	for _, s := range m.sorted() {
		m.assignAddress(s)
	}
	m.notify(target.Change{Health: true, Nodes: true})
	for owner := range m.owners {
		m.notify(target.Change{Owners: []string{owner}})
	}
}

// down is the error of every call while the member is down.
func (m *Member) down() error {
	if m.faults.Down {
		return apierrors.NewServiceUnavailable("the API server of member " + m.name + " does not answer")
	}
	return nil
}

// hinder lets a write wait and fail as the faults say.
func (m *Member) hinder(ctx context.Context, ref api.ObjectRef) error {
	m.mu.Lock()
	faults := m.faults
	m.mu.Unlock()
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
	defer m.mu.Unlock()
	if err := m.down(); err != nil {
		return err
	}
	if named(m.faults.Fail, ref) {
		return apierrors.NewForbidden(groupResource(ref), ref.Name, fmt.Errorf("member %s refuses %s on request", m.name, ref))
	}
	return nil
}

package deed

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/plan"
)

// Effect is what an operation on a run changes.
type Effect struct {
	// Members counts those to which something else happens with it than without.
	Members int `json:"members"`
	// Turns gathers them by what happens, in the order of the plan.
	Turns []Turn `json:"turns,omitempty"`
}

// Turn is what happens to some members alike.
type Turn struct {
	What string        `json:"what"` // "begin at once", "cannot begin yet"
	Sign overview.Sign `json:"sign"`
	// Reason and Message say why where members do not begin; the message is that of the first one.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Count   int    `json:"count"`
	// Names are the first of them, From and To when the first and the last of all begin.
	Names []string    `json:"names"`
	From  metav1.Time `json:"from,omitzero"`
	To    metav1.Time `json:"to,omitzero"`
}

const (
	// turnNames is how many members a turn names.
	turnNames = 20
	// atOnce is how soon what begins is said to begin at once.
	atOnce = time.Minute
)

// EffectOf compares the plans of a run without an operation and with it, both made at now. Messages are those of the members
// of the second one. Members that begin at another time alone do not count.
func EffectOf(without, with *plan.Run, messages []string, now time.Time) Effect {
	was := make(map[string]*plan.RunMember, len(without.Members))
	for i := range without.Members {
		was[without.Members[i].Name] = &without.Members[i]
	}
	var e Effect
	for i := range with.Members {
		m := &with.Members[i]
		if same(was[m.Name], m) {
			continue
		}
		e.Members++
		e.turn(m, messages[i], now).add(m)
	}
	return e
}

func same(a, b *plan.RunMember) bool {
	return a != nil && (a.Start == nil) == (b.Start == nil) && a.State == b.State && a.Reason == b.Reason
}

// turn is where a member belongs.
func (e *Effect) turn(m *plan.RunMember, message string, now time.Time) *Turn {
	t := Turn{What: "cannot begin yet", Sign: overview.Waiting, Reason: m.Reason, Message: message}
	switch {
	case m.Start != nil && m.Start.After(now.Add(atOnce)):
		t = Turn{What: "begin later", Sign: overview.Waiting}
	case m.Start != nil:
		t = Turn{What: "begin at once", Sign: overview.Moving}
	case m.State == api.StateSkipped:
		t.What, t.Sign = "are skipped", overview.Well
	case m.State == api.StateStopped, m.Reason == api.ReasonRunStopped:
		t.What, t.Sign = "do not begin", overview.Warn
	case m.State == api.StateFailed:
		t.What, t.Sign = "fail", overview.Bad
	}
	if at := slices.IndexFunc(e.Turns, func(o Turn) bool { return o.What == t.What && o.Reason == t.Reason }); at >= 0 {
		return &e.Turns[at]
	}
	e.Turns = append(e.Turns, t)
	return &e.Turns[len(e.Turns)-1]
}

func (t *Turn) add(m *plan.RunMember) {
	if t.Count++; len(t.Names) < turnNames {
		t.Names = append(t.Names, m.Name)
	}
	if m.Start == nil {
		return
	}
	if t.From.IsZero() || m.Start.Before(&t.From) {
		t.From = *m.Start
	}
	if t.To.Before(m.Start) {
		t.To = *m.Start
	}
}

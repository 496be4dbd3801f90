package offline

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"flotilla/core/plan"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// NothingToPlan says that files hold nothing that a plan is about.
func NothingToPlan(members, documents int) *session.Failure {
	return &session.Failure{
		Code:    session.ExitRefused,
		Message: fmt.Sprintf("the files hold no placement and no update run to plan: found %d members in %d documents", members, documents),
		Next:    "flotilla plan --help",
	}
}

// Collect reads documents into the input of a plan, and settles which time it is for.
func (s *Source) Collect(a *resource.Client, documents []Document, at time.Time) (plan.Input, *plan.Collected, error) {
	planned := make([]plan.Document, len(documents))
	for i, d := range documents {
		planned[i] = plan.Document{JSON: d.Body, Object: d.Ref}
	}
	decodeAll(planned)
	c, faults := plan.Collect(planned)
	if err := faults.Err(); err != nil {
		return plan.Input{}, nil, DescribeFaults(err, documents, s, false)
	}
	in := plan.Input{Subjects: c.Subjects, Members: c.Members, Now: at, Notes: c.Notes}
	if len(c.Members) == 0 && len(c.Subjects) > 0 {
		in.Notes = append(in.Notes, "the files hold no MemberCluster: nothing can be picked")
	}
	switch {
	case !at.IsZero():
	case !c.NewestBeat.IsZero():
		in.Now = c.NewestBeat
		in.Notes = append(in.Notes, "planned for "+in.Now.UTC().Format(time.RFC3339)+", the newest heartbeat in the files; --now sets another time")
	default:
		in.Now = a.Now()
		in.Notes = append(in.Notes, "planned for the present: the files hold no heartbeat; --now sets another time")
	}
	in.Standings = c.Standings(in.Now, 0)
	return in, &c, nil
}

// decodeAll decodes documents on every processor.
func decodeAll(documents []plan.Document) {
	workers := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(documents); i += workers {
				documents[i].Decode()
			}
		})
	}
	all.Wait()
}

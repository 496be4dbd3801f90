package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/rollout"
	"flotilla/core/schedule"
)

// What the rollout would do with a member once the plan is applied.
const (
	RolloutChanges = "changes" // it would be given the newest content, or told to give the placement up, at once
	RolloutWaits   = "waits"   // that is still to come; RolloutReason says what it waits for
	RolloutStays   = "stays"   // nothing would happen to it
	RolloutUnknown = "unknown" // RolloutReason says what is not known
)

// Course is what would happen to one member once the plan is applied.
type Course struct {
	// Rollout is one of the Rollout constants, RolloutReason explains waits and unknown.
	Rollout       string `json:"rollout"`
	RolloutReason string `json:"rolloutReason"`
	// AwaySince is when the member became Unknown, or, of files that do not say it, when it was last heard of; null
	// for one that is not Unknown. What changes on it reaches it when it is back.
	AwaySince *metav1.Time `json:"awaySince"`
}

// Standing is what a rollout needs to know of a member, and since when it is in its state.
type Standing struct {
	rollout.MemberView
	Since time.Time
}

// Released is how the rollout of a placement stands, and the newest snapshot as it would be. Release and Latest
// are nil while they do not exist.
type Released struct {
	Release *api.Release
	Latest  *api.Snapshot
	Results map[string]*api.PlacementResult
	// Check is the RolloutCheck that the placement names, Checks what became of it; nil where nothing is known.
	Check  *api.RolloutCheck
	Checks *api.CheckRecord
	// Rendered is what overrides come to, nil where none touches the placement, or where it is not known of Latest.
	Rendered *api.Rendered
	// Unknown says why nothing is known of the rollout; empty when it is.
	Unknown string
	// UnknownContent says why it is not known whether the content of members changes that hold the
	// placement already; empty when it is.
	UnknownContent string
	// Message says what the rollout waits for at present; empty when it is complete.
	Message string
	// Frozen says who froze placements; empty where nobody did.
	Frozen string
}

// courses are what would happen to the members of one placement.
type courses struct {
	standings map[string]Standing
	released  *Released
	moving    map[string]bool
	held      map[string]string
}

// coursesOf asks the rollout for its next step after the plan was applied.
func coursesOf(in *Input, s *Subject, asked schedule.Input, decided *schedule.Plan) courses {
	c := courses{standings: in.Standings, released: &s.Released, moving: map[string]bool{}, held: map[string]string{}}
	if s.Released.Unknown != "" {
		return c
	}
	placement, wanted := s.Placement, decided.Schedule(asked)
	placement.UID = cmp.Or(placement.UID, plannedUID)
	wanted.UID = string(placement.UID)
	going := rollout.Input{
		Placement: placement, Schedule: &wanted,
		Release: s.Released.Release, Latest: s.Released.Latest, Results: s.Released.Results,
		Members: c.views(s.Released.Release), Now: in.Now, Frozen: s.Released.Frozen,
	}
	going.Checks = s.Released.checks(&placement)
	if of := s.Released.Rendered; of != nil {
		going.Overrides, going.Rendered = of.Overrides, foreseen(of, wanted.Bindings)
	}
	next := rollout.Next(going)
	for _, members := range [][]string{next.Advance, next.Withdraw} {
		for _, member := range members {
			c.moving[member] = true
		}
	}
	for _, h := range next.Hold {
		c.held[h.Member] = h.Reason
	}
	return c
}

// checks are what the newest snapshot would go out under.
func (r *Released) checks(p *api.Placement) rollout.Checks {
	name := p.Annotations[api.AnnotationRolloutCheck]
	if name == "" || p.External() {
		return rollout.Checks{}
	}
	record := api.CheckRecord{UID: string(p.UID)}
	if r.Checks != nil && r.Checks.UID == record.UID {
		record = *r.Checks
	}
	if r.Check != nil {
		record.Soak = &metav1.Duration{Duration: r.Check.Spec.SoakTime()}
	}
	return rollout.Checks{Name: name, Record: &record}
}

// foreseen is a rendering with all that are bound: those that it does not know yet are taken to get what was selected, for
// what they get is new to them anyhow.
func foreseen(of *api.Rendered, bindings []api.Binding) *api.Rendered {
	next := *of
	next.Members = slices.Clone(of.Members)
	for i := range bindings {
		at, found := slices.BinarySearchFunc(next.Members, bindings[i].Member, func(m api.RenderedMember, name string) int {
			return strings.Compare(m.Member, name)
		})
		if !found {
			next.Members = slices.Insert(next.Members, at, api.RenderedMember{Member: bindings[i].Member, Work: of.Base})
		}
	}
	return &next
}

// views are all members, those of the release that are no part of the fleet as gone.
func (c *courses) views(release *api.Release) map[string]rollout.MemberView {
	views := make(map[string]rollout.MemberView, len(c.standings))
	for member, standing := range c.standings {
		views[member] = standing.MemberView
	}
	if release != nil {
		for i := range release.Entries {
			if _, known := views[release.Entries[i].Member]; !known {
				views[release.Entries[i].Member] = rollout.MemberView{Gone: true}
			}
		}
	}
	return views
}

// of is the course of one member; holding says that it holds the placement and is to keep it.
func (c *courses) of(member string, holding bool) Course {
	course := Course{Rollout: RolloutStays}
	if standing := c.standings[member]; standing.State == api.MemberUnknown && !standing.Since.IsZero() {
		course.AwaySince = new(metav1.NewTime(standing.Since.UTC()).Rfc3339Copy())
	}
	reason, waits := c.held[member]
	switch {
	case c.released.Unknown != "":
		course.Rollout, course.RolloutReason = RolloutUnknown, c.released.Unknown
	case holding && c.released.UnknownContent != "":
		course.Rollout, course.RolloutReason = RolloutUnknown, c.released.UnknownContent
	case waits:
		if _, after, found := strings.Cut(reason, "waits: "); found {
			reason = after
		}
		reason = strings.TrimPrefix(reason, "waits ")
		course.Rollout, course.RolloutReason = RolloutWaits, reason
	case c.moving[member]:
		course.Rollout = RolloutChanges
	}
	return course
}

// text is what people are told of the course: at once and later say what the member does when it changes, now or
// when it is back.
func (c *Course) text(atOnce, later string) string {
	var parts []string
	switch {
	case c.Rollout == RolloutWaits:
		parts = append(parts, "waits: "+c.RolloutReason)
	case c.Rollout == RolloutChanges && c.AwaySince != nil:
		parts = append(parts, later+" when it is back")
	case c.Rollout == RolloutChanges && atOnce != "":
		parts = append(parts, atOnce)
	}
	if c.AwaySince != nil {
		parts = append(parts, "is away since "+Moment(*c.AwaySince))
	}
	return strings.Join(parts, "; ")
}

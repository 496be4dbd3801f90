package plan

import (
	"cmp"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/rollout"
	"flotilla/core/schedule"
	"flotilla/core/upgrade"
)

// Input is everything a plan depends on.
type Input struct {
	// Subjects are the placements to plan, at most one for each key.
	Subjects []Subject
	// Members are the whole fleet as it would be after the apply.
	Members []api.Member
	Now     time.Time
	// Standings are how the members do, by name.
	Standings map[string]Standing
	// Thresholds are those of the hub; zero values mean its defaults.
	Thresholds schedule.Thresholds
	// Runs are the update runs to plan, at most one of each name, over the fleet that View holds; View
	// may be empty without runs. Assume says how upgrades and gates are taken to go.
	Runs   []upgrade.PlannedRun
	View   upgrade.View
	Assume upgrade.Assumptions
	// ContentRuns are the staged runs of content to plan, at most one of each name; AssumeContent is Assume for them.
	ContentRuns   []ContentRun
	AssumeContent upgrade.Assumptions
	// MaxVerdicts is how many verdicts the answer may hold in all, 0 for any number. Placements whose
	// verdicts do not fit are answered with picks, removals and the members that keep the workload; a note
	// counts the rest.
	MaxVerdicts int
	// Ended tells that nobody waits for the answer any more, and any will do; nil is never.
	Ended func() bool
	// Objects and Notes are handed on to the answer.
	Objects []api.ApplyResult
	Notes   []string
}

// Subject is one placement as it would be after the apply, with what is known of it now.
type Subject struct {
	Placement api.Placement
	// Existing are its bindings as they stand, as Existing reads them from records.
	Existing []schedule.Existing
	// Evicted are the members that an eviction rules out under the present policy (D8).
	Evicted []string
	// Drained are the members that gave the placement up because they are drained.
	Drained []string
	// Content is how its snapshot would change, nil when it would not.
	Content *ContentChange
	// Released is how its rollout stands.
	Released Released
	// Quiet leaves the placement out of the report unless a member would come or go, or would get other
	// content: it is not among the documents.
	Quiet bool
}

// Build plans every subject and every run against the same fleet at the same moment.
func Build(in Input) Answer {
	fleet := schedule.NewFleet(in.Members...)
	answer := Answer{Report: Report{Placements: []Placement{}}, Details: []Detail{}, Objects: in.Objects, Notes: in.Notes}
	in.ContentRuns = slices.Clone(in.ContentRuns)
	room := &verdictRoom{bounded: in.MaxVerdicts > 0, left: in.MaxVerdicts}
	subjects := slices.Clone(in.Subjects)
	slices.SortStableFunc(subjects, func(a, b Subject) int { return cmp.Compare(a.Placement.Key(), b.Placement.Key()) })
	for i := range subjects {
		if in.Ended != nil && in.Ended() {
			break
		}
		s := &subjects[i]
		input := s.Input(fleet, in.Now, in.Thresholds)
		decided := schedule.Schedule(input)
		in.decide(s, input, &decided)
		p := placementOf(s, decided)
		added, _ := p.Counts()
		if s.Content != nil {
			change := *s.Content
			change.Members = len(p.Picked)
			if added+len(p.Removed) == 0 && change.Members > 0 && change.Error == "" {
				change.Rollout = rollout.Pace(&s.Placement.Spec.Strategy, len(decided.Bindings))
			}
			answer.Content = append(answer.Content, change)
		}
		if s.Quiet && added == 0 && len(p.Removed) == 0 && (s.Content == nil || len(p.Picked) == 0) {
			continue
		}
		p.follow(s, coursesOf(&in, s, input, &decided))
		p.taint(s, in.Members)
		room.fill(&p, &decided.Verdicts)
		answer.Placements = append(answer.Placements, p)
		answer.Details = append(answer.Details, detailOf(s, decided, added+len(p.Removed)))
	}
	answer.Runs, answer.RunDetails = buildRuns(&in)
	answer.Notes = append(slices.Clip(answer.Notes), room.notes...)
	return answer
}

func placementOf(s *Subject, decided schedule.Plan) Placement {
	held := map[string]bool{}
	for i := range s.Existing {
		held[s.Existing[i].Member] = true
	}
	p := Placement{
		Name:      s.Placement.Key(),
		Type:      s.Placement.Spec.Policy.Type(),
		Fulfilled: decided.Fulfilled,
		Picked:    []Pick{},
		Removed:   []Removal{},
		Verdicts:  []Verdict{},
	}
	for i := range decided.Bindings {
		b := &decided.Bindings[i]
		if b.Waiting {
			continue
		}
		pick := Pick{Member: b.Member, AffinityScore: b.AffinityScore, TopologySpreadScore: b.SpreadScore, Change: ChangeAdd}
		if held[b.Member] {
			pick.Change = ChangeKeep
		}
		p.Picked = append(p.Picked, pick)
	}
	for _, r := range decided.Removed {
		p.Removed = append(p.Removed, Removal{Member: r.Member, Reason: r.Reason})
	}
	return p
}

// follow says of every member what the rollout would do with it.
func (p *Placement) follow(s *Subject, c courses) {
	p.RolloutMessage = s.Released.Message
	for i := range p.Picked {
		k := &p.Picked[i]
		k.Course = c.of(k.Member, k.Change == ChangeKeep)
	}
	for i := range p.Removed {
		p.Removed[i].Course = c.of(p.Removed[i].Member, false)
	}
}

// taint says of the members that stay which taint would keep the placement from coming to them now. A
// PickFixed asks for no tolerations.
func (p *Placement) taint(s *Subject, members []api.Member) {
	if p.Type == api.PickFixed {
		return
	}
	kept := map[string]*Pick{}
	for i := range p.Picked {
		if p.Picked[i].Change == ChangeKeep {
			kept[p.Picked[i].Member] = &p.Picked[i]
		}
	}
	for i := range members {
		if k := kept[members[i].Name]; k != nil {
			k.Taint = schedule.Untolerated(s.Placement.Spec.Policy, members[i].Taints)
		}
	}
}

func detailOf(s *Subject, decided schedule.Plan, changes int) Detail {
	d := Detail{Kind: s.Placement.Kind, Message: decided.Message, Unpicked: decided.Unpicked}
	if changes > 0 {
		d.Rollout = rollout.Pace(&s.Placement.Spec.Strategy, len(decided.Bindings))
	}
	return d
}

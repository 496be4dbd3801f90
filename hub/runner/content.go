package runner

import (
	"context"
	"sync"
	"time"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/stage"
	"flotilla/core/staged"
	"flotilla/subjects"
)

// followContent creates or steps a staged run of content, and does what its spec asks for.
func (r *Runner) followContent(ctx context.Context, s *situation) (time.Time, error) {
	if s.stale() {
		if err := r.create(ctx, s); err != nil || uncreated(s.status) {
			return time.Time{}, err
		}
	}
	step, asked := staged.Follow(s.staged, s.status, s.content, s.now)
	if !asked {
		step = staged.Step(s.staged, s.status, s.content, s.now)
	}
	step = unlocked(step)
	if err := r.carry(ctx, s, &step, api.Caller{Name: by}); err != nil {
		return time.Time{}, err
	}
	if asked {
		return s.now, nil
	}
	return r.recheck(&step), nil
}

// unlocked is a decision about content: nobody is kept from its members.
func unlocked(step stage.Decision) stage.Decision {
	step.Take, step.Release = nil, nil
	return step
}

// gatherContent collects what is known around a staged run of content.
func (r *Runner) gatherContent(s *situation) error {
	placement := s.staged.Placement()
	if err := r.gatherPlacement(placement, &s.content); err != nil {
		return err
	}
	if err := r.gatherRecords(placement, &s.content); err != nil {
		return err
	}
	spec, _, found, err := r.records.stagedStrategies.Find(s.staged.Strategy())
	if err != nil {
		return err
	}
	if found {
		if s.content.Strategy, err = api.SpecOf[api.StagedUpdateStrategy](&spec); err != nil {
			return err
		}
	}
	s.content.Runs = r.records.stagedRuns.Of(placement)
	s.content.Member, s.content.Freezes = r.memberForContent, guard.Read(r.records.freezes.Find)
	s.content.Result = func(member string) *api.PlacementResult {
		return r.records.answers.Of(member, placement)
	}
	if s.status != nil {
		return r.check(s.status)
	}
	return nil
}

func (r *Runner) gatherPlacement(name string, v *staged.View) error {
	spec, _, found, err := r.records.placements.Find(name)
	if err != nil || !found {
		return err
	}
	v.Placement, err = api.SpecOf[api.Placement](&spec)
	return err
}

func (r *Runner) gatherRecords(placement string, v *staged.View) error {
	schedule, _, found, err := r.records.schedules.Find(placement)
	if err != nil {
		return err
	}
	if found {
		v.Schedule = &schedule
	}
	release, _, found, err := r.records.releases.Find(placement)
	if err != nil {
		return err
	}
	if found {
		v.Release = &release
	}
	checks, _, found, err := r.records.checks.Find(placement)
	if err != nil {
		return err
	}
	if found {
		v.Checks = &checks
	}
	snapshots, err := r.records.snapshots.FindGroup(placement)
	if err != nil {
		return err
	}
	for i := range snapshots {
		v.Snapshots = append(v.Snapshots, &snapshots[i].Value)
	}
	return r.readable(&schedule)
}

// readable refuses to decide while a member that is picked is missing from the fleet because its records cannot be read.
func (r *Runner) readable(schedule *api.Schedule) error {
	for i := range schedule.Bindings {
		name := schedule.Bindings[i].Member
		if _, known := r.fleet.members.Member(name); known {
			continue
		}
		if _, _, err := r.records.facts(name); err != nil {
			return err
		}
	}
	return nil
}

// memberForContent is what runs of content go by on a member, false for one that is no part of the fleet.
func (r *Runner) memberForContent(name string) (staged.Member, bool) {
	m, found := r.fleet.members.Member(name)
	if !found {
		return staged.Member{}, false
	}
	record, _, _ := r.records.seen.Get(name)
	return staged.Member{Labels: m.Labels, Agent: m.Agent, Leaving: m.Leaving, Silent: record.State == api.MemberUnknown, Windows: m.Contents}, true
}

// contents lists, by run, the placements that staged runs are under way on.
type contents struct {
	mu sync.Mutex
	of map[string]string
}

// turn notes the placement of a run that is under way, empty for any other.
func (c *contents) turn(run, placement string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if placement == "" {
		delete(c.of, run)
		return
	}
	c.of[run] = placement
}

// on are the runs that are under way on a placement.
func (c *contents) on(placement string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var runs []string
	for run, of := range c.of {
		if of == placement {
			runs = append(runs, run)
		}
	}
	return runs
}

// watchContent wakes what a change of a record of a placement concerns.
func (r *Runner) watchContent() {
	wake := func(placement string) { r.wakeContent(placement, 0) }
	created := func(placement string) { wake(placement); r.wakeUncreated() }
	r.records.placements.OnChange(created)
	r.records.schedules.OnChange(created)
	r.records.releases.OnChange(wake)
	r.records.checks.OnChange(created)
	r.records.snapshots.OnChange(func(name string) { created(subjects.Snapshots.Group(name)) })
	r.records.stagedStrategies.OnChange(func(string) { r.wakeUncreated() })
}

// wakeContent wakes the runs that are under way on a placement.
func (r *Runner) wakeContent(placement string, delay time.Duration) {
	for _, run := range r.contents.on(placement) {
		r.queue.AddAt(runKey+run, r.options.Now().Add(delay))
	}
}

// noteContent notes which placement a run is under way on.
func (r *Runner) noteContent(name string, status *api.UpdateRunStatus) {
	placement := ""
	if status.Content != nil && status.UnderWay() {
		placement = status.Content.Placement
	}
	r.contents.turn(name, placement)
}

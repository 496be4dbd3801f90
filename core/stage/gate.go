package stage

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// GateScope says where gates stand.
type GateScope struct{ stage, group, timing string }

// ScopeOf is where the gates of a stage, or of a group of it, stand: before it or after it.
func ScopeOf(stage, group, timing string) GateScope { return GateScope{stage, group, timing} }

// Path names a gate of a type: "prod/before/Approval", "prod/eu/after/Approval".
func (s GateScope) Path(gateType string) string {
	at := s.stage
	if s.group != "" {
		at += "/" + s.group
	}
	if s.timing == api.TimingBefore {
		return at + "/before/" + gateType
	}
	return at + "/after/" + gateType
}

// GatePath names a gate as people type it: "prod/before/Approval", "prod/eu/after/Approval".
func GatePath(g *api.Gate) string {
	return GateScope{g.Spec.Target.Stage, g.Spec.Target.Group, g.Spec.Target.Timing}.Path(g.Spec.GateType)
}

// gateID derives the GUID of a gate from its run and its path, so that a restarted hub finds the same.
func gateID(run, path string) string {
	sum := sha256.Sum256([]byte(run + "\x00" + path))
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x80 // version 8, a name hashed our own way
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:16])
}

// reach opens what the run has come to: an approval begins to wait, a scheduled start gets its
// absolute time and opens when that is now.
func (r *Run) reach(gates []api.GateStatus, at GateScope) {
	for k := range gates {
		g := &gates[k]
		if g.Status.State != api.StateNotStarted {
			continue
		}
		g.GateID = gateID(r.Status.UID, at.Path(g.Type))
		r.Enter(&g.Status, api.StatePending)
		if g.Type == api.GateScheduledStart {
			g.AbsoluteStartTime = metav1.NewTime(occurrence(g.Schedule, r.Now))
			r.openScheduled(g)
		}
	}
}

// lateStart is how late a scheduled start may be opened; later it waits for its next occurrence, so
// that nobody is surprised by day.
const lateStart = 4 * time.Hour

// openScheduled opens a scheduled start whose time has come.
func (r *Run) openScheduled(g *api.GateStatus) {
	if g.Type != api.GateScheduledStart || g.Status.State != api.StatePending || r.Now.Before(g.AbsoluteStartTime.Time) {
		return
	}
	if r.Now.Sub(g.AbsoluteStartTime.Time) > lateStart {
		g.AbsoluteStartTime = metav1.NewTime(occurrence(g.Schedule, r.Now))
		if r.Now.Before(g.AbsoluteStartTime.Time) {
			return
		}
	}
	r.Enter(&g.Status, api.StateCompleted)
}

// openDue opens the scheduled starts, and ends the wait, of the current stage whose time has come.
func (r *Run) openDue() {
	i := r.current()
	if i < 0 {
		return
	}
	s := r.Own(i)
	EachGate(s, func(g *api.GateStatus, _ GateScope) { r.openScheduled(g) })
	if w := s.Wait; w != nil && w.Status.State == api.StateRunning && !r.Now.Before(w.Deadline.Time) {
		r.Enter(&w.Status, api.StateCompleted)
	}
}

// EachGate calls f for every gate of a stage and its groups.
func EachGate(s *api.StageStatus, f func(*api.GateStatus, GateScope)) {
	all := func(gates []api.GateStatus, at GateScope) {
		for k := range gates {
			f(&gates[k], at)
		}
	}
	all(s.BeforeGates, GateScope{stage: s.Name, timing: api.TimingBefore})
	for j := range s.Groups {
		g := &s.Groups[j]
		all(g.BeforeGates, GateScope{stage: s.Name, group: g.Name, timing: api.TimingBefore})
		all(g.AfterGates, GateScope{stage: s.Name, group: g.Name, timing: api.TimingAfter})
	}
	all(s.AfterGates, GateScope{stage: s.Name, timing: api.TimingAfter})
}

func gatesDone(gates []api.GateStatus) bool {
	for k := range gates {
		if !gates[k].Status.State.Done() {
			return false
		}
	}
	return true
}

// occurrence returns the first instant from now on at which the schedule's clock shows its day and
// time; now itself counts on the full minute only (A16).
func occurrence(s *api.ScheduledStart, now time.Time) time.Time {
	offset := clockOffset(s.UTCOffset)
	local := now.UTC().Add(offset)
	hour, minute := clockTime(s.StartTime)
	day := time.Date(local.Year(), local.Month(), local.Day(), hour, minute, 0, 0, time.UTC)
	wanted := slices.Index(api.UpdateWeekdays, s.StartDay)
	day = day.AddDate(0, 0, (wanted-int(day.Weekday())+7)%7)
	if day.Before(local) {
		day = day.AddDate(0, 0, 7)
	}
	return day.Add(-offset)
}

func clockOffset(text string) time.Duration {
	hour, minute := clockTime(text[1:])
	offset := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
	if text[0] == '-' {
		return -offset
	}
	return offset
}

// clockTime reads HH:MM that was validated.
func clockTime(text string) (hour, minute int) {
	hour, _ = strconv.Atoi(text[:2])
	minute, _ = strconv.Atoi(text[3:])
	return hour, minute
}

// Gates returns the gates of a run that exist, as users read them, in the order of the strategy.
func Gates(status *api.UpdateRunStatus) []api.Gate {
	var out []api.Gate
	for i := range status.Stages {
		EachGate(&status.Stages[i], func(g *api.GateStatus, at GateScope) {
			if g.GateID != "" {
				out = append(out, gateObject(status.Run, g, at))
			}
		})
	}
	return out
}

func gateObject(run string, g *api.GateStatus, at GateScope) api.Gate {
	gate := api.Gate{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.VersionFlotilla, Kind: api.KindGate},
		ObjectMeta: metav1.ObjectMeta{Name: g.GateID},
		Spec: api.GateSpec{
			DisplayName: g.DisplayName, GateType: g.Type,
			Target: api.GateTarget{Run: run, Stage: at.stage, Group: at.group, Timing: at.timing},
		},
		Status: g.Status,
	}
	if g.Schedule != nil {
		gate.Spec.ScheduledStartProperties = &api.ScheduledStartProperties{ScheduledStart: *g.Schedule, AbsoluteStartTime: g.AbsoluteStartTime}
	}
	return gate
}

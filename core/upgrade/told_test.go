package upgrade_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// tale is the tree of a run as one knows it who reads its events one after the other.
type tale struct {
	t      *testing.T
	status *api.UpdateRunStatus // as after the step
	states map[string]api.UpdateState
}

// requireCausesFirst reads the events of a step and finds at each of them a tree that may be: members and what is
// between run among parents that run, nothing runs or waits below what has ended, and no level has more members in
// flight than it allows. The last event leaves the tree that the step decided on.
func requireCausesFirst(t *testing.T, d *stage.Decision) {
	t.Helper()
	told := &tale{t: t, status: &d.Status, states: map[string]api.UpdateState{}}
	for i := range d.Events {
		if _, known := told.states[node(&d.Events[i])]; !known {
			told.states[node(&d.Events[i])] = d.Events[i].From
		}
	}
	told.judge("before it was told anything")
	for i := range d.Events {
		e := &d.Events[i]
		require.Equal(t, e.From, told.states[node(e)], "%s", e)
		told.states[node(e)] = e.To
		told.judge(e.String())
		requireLast(t, d.Events, i)
	}
	told.ended()
}

// requireLast finds that nothing is told of what is in a node behind the end of the node, and nothing of a node's
// beginning behind what began in it.
func requireLast(t *testing.T, events []stage.Event, at int) {
	t.Helper()
	e := &events[at]
	for i := range events {
		if in := &events[i]; !holds(e, in) {
			continue
		} else if i > at {
			require.False(t, !e.To.Active() && e.To != api.StateStopping && e.To != api.StateNotStarted, "%s ends before %s", e, in)
		} else {
			require.False(t, !e.From.Active() && e.From != api.StateStopping && e.To.Active() && in.To.Active(), "%s begins after %s", e, in)
		}
	}
}

// holds reports whether one event is about something in what the other is about.
func holds(outer, inner *stage.Event) bool {
	switch outer.Scope {
	case stage.ScopeRun:
		return inner.Scope != stage.ScopeRun
	case stage.ScopeStage:
		return inner.Stage == outer.Name && inner.Scope != stage.ScopeStage
	case stage.ScopeGroup:
		return inner.Group == outer.Name && inner.Stage == outer.Stage && inner.Scope != stage.ScopeGroup
	}
	return false
}

func node(e *stage.Event) string { return e.Scope + " " + e.Name }

// state is what was told of a node, or what it is where nothing is to be told.
func (s *tale) state(scope, name string, is api.UpdateState) api.UpdateState {
	if told, ok := s.states[scope+" "+name]; ok {
		return told
	}
	return is
}

func (s *tale) judge(after string) {
	s.t.Helper()
	run := s.state(stage.ScopeRun, "", s.status.Status.State)
	for i := range s.status.Stages {
		st := &s.status.Stages[i]
		is := s.state(stage.ScopeStage, st.Name, st.Status.State)
		s.within(after, "stage "+st.Name, is, run)
		inStage := 0
		for j := range st.Groups {
			g := &st.Groups[j]
			group := s.state(stage.ScopeGroup, g.Name, g.Status.State)
			s.within(after, "group "+g.Name, group, is)
			inGroup := 0
			for k := range g.Members {
				m := &g.Members[k]
				member := s.state(stage.ScopeMember, m.Name, m.Status.State)
				s.within(after, "member "+m.Name, member, group)
				if member == api.StateRunning {
					inGroup++
				}
			}
			require.LessOrEqual(s.t, inGroup, g.MaxConcurrency, "%s: members of group %s", after, g.Name)
			inStage += inGroup
		}
		require.LessOrEqual(s.t, inStage, st.MaxConcurrency, "%s: members of stage %s", after, st.Name)
	}
}

// within holds a node against what it is in.
func (s *tale) within(after, name string, child, parent api.UpdateState) {
	s.t.Helper()
	if child == api.StateRunning || child == api.StateStopping {
		require.True(s.t, parent.Active() || parent == api.StateStopping, "%s: %s is %s in what is %s", after, name, child, parent)
	}
}

// ended finds that whatever changed was told.
func (s *tale) ended() {
	s.t.Helper()
	require.Equal(s.t, s.status.Status.State, s.state(stage.ScopeRun, "", s.status.Status.State))
	for i := range s.status.Stages {
		st := &s.status.Stages[i]
		require.Equal(s.t, st.Status.State, s.state(stage.ScopeStage, st.Name, st.Status.State), st.Name)
		for j := range st.Groups {
			g := &st.Groups[j]
			require.Equal(s.t, g.Status.State, s.state(stage.ScopeGroup, g.Name, g.Status.State), g.Name)
			for k := range g.Members {
				m := &g.Members[k]
				require.Equal(s.t, m.Status.State, s.state(stage.ScopeMember, m.Name, m.Status.State), m.Name)
			}
		}
	}
}

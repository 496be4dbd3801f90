package placement

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// memberLine is one member of a placement.
type memberLine struct {
	member, snapshot, state, message string
	since                            time.Time
}

// memberLines are the members of a placement, those that are missing, and those that have not confirmed
// that they gave it up.
func memberLines(s *api.PlacementStatus) []memberLine {
	var lines []memberLine
	for i := range s.PlacementStatuses {
		m := &s.PlacementStatuses[i]
		lines = append(lines, memberLine{
			member: session.OrDash(m.ClusterName), snapshot: session.OrDash(m.ObservedResourceIndex), state: session.OrDash(m.State), message: m.Message, since: m.Since.Time,
		})
	}
	for i := range s.Withdrawals {
		w := &s.Withdrawals[i]
		line := memberLine{member: w.ClusterName, snapshot: "-", state: api.EntryWithdrawing, message: w.Message, since: w.Since.Time}
		if w.State == api.MemberUnknown {
			line.message = "the member is Unknown"
		}
		lines = append(lines, line)
	}
	return lines
}

// MembersShown says how the members of a placement are shown.
type MembersShown struct {
	NoHeaders, Watch, WatchOnly bool
}

// ShowMembers shows the members of one placement, one a line, and while watched those that change.
func (a Commands) ShowMembers(ctx context.Context, r resource.Ref, o MembersShown) error {
	table := &lineTable{session: a.Session, noHeaders: o.NoHeaders}
	if o.Watch || o.WatchOnly {
		return session.StoppedOr(ctx, a.watchMembers(ctx, r, table, o.WatchOnly))
	}
	obj, err := a.Fetch(ctx, r)
	if err != nil {
		return err
	}
	lines := memberLines(placementOf(obj))
	if err := table.print(lines); err != nil {
		return err
	}
	a.afterMembers(r, obj, lines)
	return nil
}

// watchMembers shows members again whenever they change, until the command is interrupted.
func (a Commands) watchMembers(ctx context.Context, r resource.Ref, table *lineTable, onlyChanges bool) error {
	news, err := a.ChangesOf(ctx, api.WatchedKind{APIVersion: r.APIVersion, Kind: r.Kind})
	if err != nil {
		return err
	}
	var seen []memberLine
	for first := true; ; first = false {
		obj, err := a.Fetch(ctx, r)
		if err != nil {
			return err
		}
		lines := memberLines(placementOf(obj))
		if !first || !onlyChanges {
			if err := table.print(changedLines(seen, lines)); err != nil {
				return err
			}
		}
		seen = lines
		if more, err := news.Next(ctx); !more || err != nil {
			return err
		}
	}
}

// changedLines are those of now that were not seen, without regard to their age, and those that are gone.
func changedLines(seen, now []memberLine) []memberLine {
	var changed []memberLine
	for _, line := range now {
		if !slices.Contains(seen, line) {
			changed = append(changed, line)
		}
	}
	for _, line := range seen {
		if line.member != "-" && !slices.ContainsFunc(now, func(l memberLine) bool { return l.member == line.member }) {
			changed = append(changed, memberLine{member: line.member, snapshot: "-", state: "Gone"})
		}
	}
	return changed
}

func (a Commands) afterMembers(r resource.Ref, obj *unstructured.Unstructured, lines []memberLine) {
	if len(lines) == 0 {
		session.Say(a.Err, "no members: %s has not been scheduled to any yet\n", r)
	}
	if rollout := placementOf(obj).Rollout; rollout != nil && rollout.Message != "" {
		a.Note("%s", rollout.Message)
	}
	a.Next("flotilla events %s", r)
}

// lineTable prints lines below each other in the same columns, and a head anew when they have to be wider.
type lineTable struct {
	session   *session.Session
	noHeaders bool
	widest    []string // lines that the widths are of, as they were shown
	head      string   // the last one, with its widths
}

func (t *lineTable) print(lines []memberLine) error {
	if len(lines) == 0 {
		return nil
	}
	all := slices.Clip(t.widest)
	for _, line := range lines {
		all = append(all, strings.Join([]string{line.member, line.snapshot, line.state, session.Since(t.session.Now(), line.since), session.Cell(session.OrDash(line.message))}, "\t"))
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 8, 3, ' ', 0)
	_, _ = io.WriteString(w, "MEMBER\tSNAPSHOT\tSTATE\tSINCE\tMESSAGE\n"+strings.Join(all, "\n")+"\n")
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	rows := strings.SplitAfter(text.String(), "\n")
	known := len(t.widest)
	if rows[0] != t.head {
		t.head, t.widest = rows[0], all
		if !t.noHeaders {
			t.session.Printf("%s", rows[0])
		}
	}
	t.session.Printf("%s", strings.Join(rows[1+known:], ""))
	return nil
}

package hub

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/session"
)

type statusOptions struct {
	format, by string
	check      bool
}

func (a commands) statusCommand() *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "The whole fleet on one screen, problems first",
		Long: `Show the whole fleet on one screen, problems first. With --by, the members come below in groups, the worst group first: how
many are in which state, and which are not well, each with a sign: ○ not heard of, ✖ NotReady, ▲ with placements in trouble, ‖ waiting
to join, ↻ leaving. Long messages are cut; -o json has them whole.`,
		Example: `  flotilla status
  flotilla status --by region
  flotilla status --by label:tier -o json`,
		Args: session.NoArgs,
		RunE: a.Do(func(ctx context.Context, _ []string) error { return a.status(ctx, &o) }),
	}
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "json")
	cmd.Flags().StringVar(&o.by, "by", "", "group members by region, zone, version, state, sign or a label")
	cmd.Flags().BoolVar(&o.check, "check", false, "exit 1 when there is a problem")
	return cmd
}

func (a commands) status(ctx context.Context, o *statusOptions) error {
	if err := a.Format(o.format, "json"); err != nil {
		return err
	}
	var s Status
	if err := a.Call(ctx, api.VerbStatus, struct{}{}, &s.FleetStatus); err != nil {
		return err
	}
	if o.by != "" {
		groups, err := a.groups(ctx, o.by)
		if err != nil {
			return err
		}
		s.Groups = groups
	}
	if err := a.printStatus(&s, o.by); err != nil {
		return err
	}
	if o.check && len(s.Problems) > 0 {
		return session.Different()
	}
	return nil
}

func (a commands) printStatus(s *Status, by string) error {
	if a.Machine {
		return session.PrintJSON(a.Out, s)
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	for i := range s.Frozen {
		session.Say(w, "FROZEN  %s (%s); %s\n", &s.Frozen[i], session.Since(a.Now(), s.Frozen[i].Since.Time), s.Frozen[i].Unfreeze())
	}
	if len(s.Problems) > 0 {
		session.Say(w, "%d %s\n", len(s.Problems), session.Plural(len(s.Problems), "problem", "problems"))
		for _, p := range s.Problems {
			session.Say(w, "  %s\t%s\t%s\t%s\n", session.Brief(p.Object), session.Brief(p.Reason), session.Since(a.Now(), p.Since.Time), session.Line(p.Message))
		}
		session.Say(w, "\n")
	}
	session.Say(w, "fleet\t%s\n", leadership(&s.FleetStatus))
	session.Say(w, "members\t%s\n", memberCounts(s.Members))
	converging := ""
	if s.Converging > 0 {
		converging = fmt.Sprintf(", %d converging", s.Converging)
	}
	session.Say(w, "placements\t%d on %d %s%s\n", s.Placements, s.Bindings, session.Plural(s.Bindings, "binding", "bindings"), converging)
	if runs := runCounts(s.Runs); runs != "" {
		session.Say(w, "runs\t%s\n", runs)
	}
	if nodes := nodeCounts(&s.FleetStatus); nodes != "" {
		session.Say(w, "nodes\t%s\n", nodes)
	}
	if s.HeldTotal > 0 {
		session.Say(w, "held\t%s\n", holds(&s.FleetStatus, a.Now()))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	a.Paint(a.Problems(text.String(), s.Problems))
	if by != "" {
		if err := a.printGroups(by, s.Groups); err != nil {
			return err
		}
	}
	if len(s.Problems) > 0 && s.Problems[0].Next != "" {
		a.Next("%s", s.Problems[0].Next)
	} else {
		a.Next("flotilla get placements")
	}
	return nil
}

// shownHolds is how many of those who have a hold of members a line names.
const shownHolds = 5

// holds is "3: berlin by run spring (2m), oslo by eviction of web (3s), paris by rollout of web (3s)".
func holds(s *api.FleetStatus, now time.Time) string {
	texts := make([]string, 0, shownHolds)
	for _, h := range s.Held[:min(len(s.Held), shownHolds)] {
		texts = append(texts, fmt.Sprintf("%s by %s (%s)", h.Member, h.Holder, session.Since(now, h.Since.Time)))
	}
	return fmt.Sprintf("%d: %s", s.HeldTotal, phrase.First(texts, s.HeldTotal))
}

// leadership is "default, led by hub-0, term 7".
func leadership(s *api.FleetStatus) string {
	if s.Damage != "" {
		return fmt.Sprintf("%s, led by nobody: %s only shows what is left of state", s.Fleet, s.Leader)
	}
	return fmt.Sprintf("%s, led by %s, term %d", s.Fleet, s.Leader, s.Term)
}

// memberCounts is "8: 7 Ready, 1 Unknown".
func memberCounts(counts map[string]int) string {
	total := 0
	var parts []string
	for _, state := range []api.MemberState{api.MemberReady, api.MemberNotReady, api.MemberUnknown, api.MemberJoining, api.MemberLeaving} {
		if n := counts[string(state)]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if total == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}

// runCounts is "3: 1 Running, 2 Completed", empty without runs.
func runCounts(counts map[string]int) string {
	total := 0
	var parts []string
	for _, state := range []api.UpdateState{
		api.StateRunning, api.StatePending, api.StateStopping, api.StateFailed, api.StateStopped, api.StateNotStarted, api.StateCompleted, api.StateSkipped,
	} {
		if n := counts[string(state)]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}

// nodeCounts is "12 of 2 node pools, disruptions: 1 Launching, 2 Draining", empty without any of them.
func nodeCounts(s *api.FleetStatus) string {
	if s.NodePools == 0 && len(s.Disruptions) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d node %s", s.Nodes, s.NodePools, session.Plural(s.NodePools, "pool", "pools"))
	var parts []string
	for _, phase := range []string{api.PhaseLaunching, api.PhaseDraining, api.PhaseAborted} {
		if n := s.Disruptions[phase]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, phase))
		}
	}
	if len(parts) == 0 {
		return text + ", none is being disrupted"
	}
	return text + ", disruptions: " + strings.Join(parts, ", ")
}

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/whatif"
	"flotilla/hub/flotilla/cli"
	"flotilla/hub/flotilla/cli/session"
)

// TestWithoutIsWhatHappensWhenAMemberLeaves asks a hub what would become of its placements without a member, lets the member
// leave, and finds each placement where the answer said, and what is left unfilled; then another one leaves.
func TestWithoutIsWhatHappensWhenAMemberLeaves(t *testing.T) {
	fleet := startFleet(t)
	env := liveEnvironment(fleet)
	flotilla := func(stdin string, want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		e := env
		e.In, e.Out, e.Err = strings.NewReader(stdin), &out, &errs
		require.Equal(t, want, cli.Main(t.Context(), args, e), "%v: %s%s", args, out.String(), errs.String())
		return out.String()
	}
	for _, name := range []string{"berlin", "oslo", "tampa"} {
		flotilla("", session.ExitDone, "member", "admit", name, "--allow-labels", "*")
	}
	flotilla("", session.ExitDone, "wait", "members", "--all", "--for=jsonpath={.status.state}=Ready")
	flotilla(everyKind+"---\n"+sorted(2), session.ExitDone, "apply", "-f", "-")
	names := []string{"fixed", "golden", "sorted", "spread"}
	for _, name := range names {
		flotilla("", session.ExitDone, "rollout", "status", "placement/"+name, "--timeout=30s")
	}
	where := func() map[string][]string {
		held := map[string][]string{}
		for _, name := range names {
			held[name] = slices.Sorted(maps.Keys(scheduled(t, flotilla("", session.ExitDone, "get", "placement/"+name, "-o", "json"))))
		}
		return held
	}
	for _, member := range []string{"oslo", "tampa"} {
		var told whatif.Report
		require.NoError(t, json.Unmarshal([]byte(flotilla("", session.ExitDifferent, "plan", "--without", "member/"+member, "-o", "json")), &told))
		require.Equal(t, []string{member}, []string{told.Without[0].Member})
		require.NotZero(t, told.Without[0].Placements)
		want := foretold(where(), &told)

		flotilla("", session.ExitDone, "member", "leave", member, "--when-leaving", "Delete", "--timeout=30s")
		bustest.Eventually(t, func() error {
			if found := where(); fmt.Sprint(want) != fmt.Sprint(found) {
				return fmt.Errorf("without %s: found %v, told %v", member, found, want)
			}
			return nil
		})
		for i := range told.Placements {
			p := &told.Placements[i]
			counts := flotilla("", session.ExitDone, "get", "placement/"+p.Name, "-o", "jsonpath={.status.counts.picked}")
			require.Equal(t, fmt.Sprint(p.Picked.After), strings.TrimSpace(counts), p.Name)
		}
	}
}

// foretold are the members of placements as they are told to be.
func foretold(held map[string][]string, told *whatif.Report) map[string][]string {
	for i := range told.Placements {
		p := &told.Placements[i]
		for _, l := range p.Losses {
			held[p.Name] = slices.DeleteFunc(held[p.Name], func(name string) bool { return name == l.Member })
		}
		for _, g := range p.Gains {
			held[p.Name] = append(held[p.Name], g.Member)
		}
		slices.Sort(held[p.Name])
	}
	return held
}

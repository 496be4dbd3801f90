package overview

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

func TestMembersOfAPlacementTheWorstFirst(t *testing.T) {
	cells := Cells{Placements: []CellsOfOne{{Key: "web", Troubled: []TroubledCell{
		{Member: "oslo", State: api.EntryFailed, Message: "no such kind"}, {State: api.EntryMissing, Message: "nobody fits"},
	}}}}
	require.NoError(t, cells.Fill([][]Standing{{{"berlin", api.EntryAvailable}, {"gone", api.EntryUnknown}, {"oslo", api.EntryFailed}, {"paris", api.EntryAvailable}}}))
	said := func(by string, only *string) (lines []string) {
		for _, s := range cells.Stands(0, four(), by, only) {
			lines = append(lines, strings.TrimSpace(s.Member+" "+s.State+" "+s.Sign.Glyph()+" "+s.Message))
		}
		return lines
	}
	require.Equal(t, []string{"gone Unknown ○", "oslo Failed ✖ no such kind", "Missing ▲ nobody fits", "berlin Available ·", "paris Available ·"}, said("", nil))
	west, none := "eu-west", ""
	require.Equal(t, []string{"berlin Available ·", "paris Available ·"}, said("region", &west))
	require.Equal(t, []string{"gone Unknown ○"}, said("region", &none))
	require.True(t, cells.Stands(0, nil, "", nil)[2].Missing())
}

func TestPlacementsAreFoundByWords(t *testing.T) {
	placements := []Placement{
		{Key: "web", Type: "PickAll", State: "Available"},
		{Key: "shop/api", Type: "PickN", State: "Applied=False", Sign: Bad, Message: "No such kind"},
		{Key: "edge", Type: "PickN", State: "Available", Sign: Waiting, Hold: Hold{Paused: &api.Pause{By: "anna"}, Pinned: &api.Pin{}}},
		{Key: "ice", Type: "PickN", State: "Available", Sign: Waiting, Hold: Hold{Paused: &api.Pause{By: "anna"}, Frozen: "the fleet", Held: true, Deleting: true}},
	}
	for text, want := range map[string]string{
		"": "shop/api edge ice web", "PICKN": "shop/api edge ice", "!pickn": "web", "kind such": "shop/api", "paused": "edge", "frozen held": "ice", "bad": "shop/api",
		"!shop !web": "edge ice", "nothing": "",
	} {
		var keys []string
		for _, p := range WorstPlacements(placements, text) {
			keys = append(keys, p.Key)
		}
		require.Equal(t, want, strings.Join(keys, " "), text)
	}
	require.Equal(t, "frozen held deleting", placements[3].Marks())
}

func TestExportsHoldWhatTheHubSays(t *testing.T) {
	at := metav1.NewTime(time.Unix(1_800_000_000, 0).UTC())
	bytes := func(object any) json.RawMessage {
		text, err := json.Marshal(object)
		require.NoError(t, err)
		return text
	}
	m := &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "berlin", CreationTimestamp: at, Labels: map[string]string{"own": "x"}}}
	require.Equal(t, "berlin|||2027-01-15T08:00:00Z||0|||0|||||own=x", strings.Join(memberCells(m), "|"))
	m.DeletionTimestamp, m.Spec.Taints = &at, []api.Taint{{Key: "a", Effect: "NoSchedule"}}
	m.Status = &api.MemberClusterStatus{
		State: api.MemberReady, Message: "well", KubernetesVersion: "v1.31.2", Nodes: 3, Placed: 2, AgentVersion: "1.0.0",
		Labels:        map[string]string{"b": "2", "a": "1", api.LabelMemberName: "berlin"},
		ResourceUsage: &api.ResourceUsage{Available: map[string]string{"cpu": "44650m", "memory": "9Gi"}}, Credentials: &api.AgentCredentials{State: api.CredentialsValid},
		AgentStatus: []api.AgentStatus{{Type: api.AgentTypeMember, LastReceivedHeartbeat: at}},
	}
	require.Equal(t, "berlin|Leaving|well|2027-01-15T08:00:00Z|v1.31.2|3|44650m|9Gi|2|a:NoSchedule|1.0.0|2027-01-15T08:00:00Z|Valid|a=1,b=2", strings.Join(memberCells(m), "|"))
	bodies := []json.RawMessage{bytes(m), bytes(&api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "aachen"}})}
	table, err := MemberTable("members", bodies, []string{"berlin", "gone"})
	require.NoError(t, err)
	require.Equal(t, [][]string{memberCells(m)}, table.Rows)
	require.Len(t, table.Columns, len(memberCells(m)))
	require.Equal(t, bodies[:1], table.Value.(map[string]any)["items"])

	p := &api.Placement{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 4}, Status: &api.PlacementStatus{
		ObservedSnapshot: "12", Counts: api.PlacementCounts{Want: -1, Picked: 3, Current: 3, Applied: 2, Available: 1, Failed: 1}, Paused: &api.Pause{},
		PlacementStatuses: []api.PerMemberStatus{{ClusterName: "oslo", ObservedResourceIndex: "12", State: api.EntryFailed, Since: at, Message: "no"}},
		Withdrawals:       []api.Withdrawal{{ClusterName: "rome", Since: at}},
	}}
	require.Equal(t, "web|PickAll|4|12|-|all|3|3|2|1|1|0|||paused", strings.Join(placementCells(p), "|"))
	table, err = PlacementTable("placements", []json.RawMessage{bytes(p)}, []string{"web"})
	require.NoError(t, err)
	require.Len(t, table.Columns, len(table.Rows[0]))
	table, err = EntryTable("web", bytes(p))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"oslo", "12", "Failed", "2027-01-15T08:00:00Z", "no"}, {"rome", "", "Withdrawing", "2027-01-15T08:00:00Z", ""}}, table.Rows)
	require.Len(t, table.Columns, 5)
}

func TestTablesKeepFormulasOutOfSpreadsheets(t *testing.T) {
	var out strings.Builder
	table := TableOf("t", nil, []string{"=cmd()", "-1.5", "-x", "a,b"}, func(s *string) []string { return []string{*s} }, "what")
	require.NoError(t, table.WriteCSV(&out))
	require.Equal(t, "what\n'=cmd()\n-1.5\n'-x\n\"a,b\"\n", out.String())
}

func TestWhatARevisionIs(t *testing.T) {
	refs := []api.ObjectRef{{Kind: "A"}}
	for want, r := range map[string]api.Revision{
		"1 object": {Objects: 1}, "2 objects, 1 added, 1 changed, 1 removed, back to revision 3, pinned": {Objects: 2, Added: refs, Changed: refs, Removed: refs, UndoneTo: 3, Pinned: true},
		"the selectors could not be followed: too many": {Error: "too many"},
	} {
		require.Equal(t, want, WhatOf(&r))
	}
}

package upgrade_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/stage"
)

const consistentImages = `
strategy: {stages: [{name: s, groups: [{name: g, maxConcurrency: "9"}]}]}
upgrade: {type: NodeImageOnly, nodeImageSelection: {type: Consistent}}
`

// What a member states of itself leaves that member out and nobody else, with a Warning that names it and its region,
// and says what to do. However many pools it states, it is one member.
func TestAStatementOfOneMemberExcludesThatMemberAlone(t *testing.T) {
	for name, facts := range map[string]string{
		"a region that the catalog does not know":   "region=nowhere",
		"a region without images of its family":     "region=aue pools=np1:W-20348.2582.240000@1.29.2",
		"the same, of a family that others use too": "region=aue pools=np1:W-20348.2582.240000@1.29.2,np2:U-202312.11.0@1.29.2",
		"a hundred pools there":                     "region=aue pools=" + pools(100),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.fixture(nil, "")
			s.members(nil, "good1,good2 group=g region=weu pools=np1:W-20348.2582.240000@1.29.2,np2:U-202312.11.0@1.29.2\nmallory group=g "+facts)
			require.Contains(t, s.createRun([]string{"r"}, consistentImages), "3 members")
			_, refusal := s.operate("r", api.VerbRunStart, &api.RunRequest{})
			require.Nil(t, refusal)
			s.until(s.now.Add(time.Hour))
			require.Equal(t, map[string]string{
				"good1": "Completed", "good2": "Completed", "mallory": "Skipped ConsistentImageNotFound",
			}, s.ended("r"))
			require.Equal(t, "U-202401.17.1", s.image("good1", "np2"))
			requireWarned(t, s, "mallory", "no image for pool np1 ", "region "+s.region("mallory"), "VersionCatalog", "flotilla run rerun r --members mallory")
		})
	}
}

// pools are so many pools of the family of Windows.
func pools(n int) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf("np%d:W-20348.2582.240000@1.29.2,", i+1)
	}
	return text[:len(text)-1]
}

// ended is how the members of a run are, by name.
func (s *scene) ended(run string) map[string]string {
	states := map[string]string{}
	for i := range s.runs[run].status.Stages {
		stage.EachMember(&s.runs[run].status.Stages[i], func(m *api.MemberUpdateStatus) {
			states[m.Name] = strings.TrimSpace(string(m.Status.State) + " " + m.Reason)
		})
	}
	return states
}

// image is that of a pool, its family short.
func (s *scene) image(member, pool string) string {
	m, found := s.fleet.Member(member)
	require.True(s.t, found, member)
	for i := range m.Pools {
		if m.Pools[i].Name == pool {
			return shortImages(m.Pools[i].NodeImageVersion)
		}
	}
	return ""
}

func (s *scene) region(member string) string {
	m, found := s.fleet.Member(member)
	require.True(s.t, found, member)
	return m.Inventory.Region
}

// requireWarned finds one Warning about a member, which holds all words.
func requireWarned(t *testing.T, s *scene, member string, words ...string) {
	t.Helper()
	var warnings []api.Audit
	for _, e := range s.events {
		if a := e.Audit("runner"); a.Type == "Warning" && a.Member == member {
			warnings = append(warnings, a)
		}
	}
	require.Len(t, warnings, 1, "%v", s.events)
	require.Equal(t, api.ReasonConsistentNotFound, warnings[0].Reason)
	for _, word := range words {
		require.Contains(t, warnings[0].Message, word)
	}
}

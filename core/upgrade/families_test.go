package upgrade_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// manyFamilies is a fleet of three under a catalog of eight families F0 to F7, each with an older and a newer image in weu.
func manyFamilies(t *testing.T) *scene {
	s := newScene(t)
	s.fixture(nil, "")
	s.catalog.NodeImages = nil
	for i := range 8 {
		s.addImage(fmt.Sprintf("F%d-202401.1.0", i), []string{"weu"})
		s.addImage(fmt.Sprintf("F%d-202402.1.0", i), []string{"weu"})
	}
	s.members(nil, "a,b,mallory region=weu pools=np:F0-202401.1.0@1.29.2")
	return s
}

// state has mallory state pools of families, at their older images.
func (s *scene) state(families ...int) {
	m, _ := s.fleet.Member("mallory")
	inventory := m.Inventory
	inventory.NodePools = nil
	for _, i := range families {
		inventory.NodePools = append(inventory.NodePools, s.pools(fmt.Sprintf("np%d:F%d-202401.1.0@1.29.2", i, i))...)
	}
	require.NoError(s.t, s.fleet.Observe("mallory", inventory))
	s.settle()
}

// H42: which families a member states neither names the run of a profile nor has another one made, and stops none.
func TestFamiliesThatAMemberStatesMakeNoRun(t *testing.T) {
	for _, overlap := range []string{api.OverlapQueue, api.OverlapSupersede, api.OverlapAllow} {
		for _, channel := range []string{api.ChannelNodeImage, api.ChannelSecurityPatch} {
			t.Run(overlap+" "+channel, func(t *testing.T) {
				s := manyFamilies(t)
				s.profile([]string{"p"}, "channel: "+channel+"\noverlapPolicy: "+overlap+"\n")
				require.Len(t, s.runs, 1)
				name := s.expand("auto-p*")
				for set := range 8 {
					s.state(0, set)
					require.Equal(t, name, s.expand("auto-p*"))
					require.Len(t, s.runs, 1, "families F0 and F%d", set)
					require.Equal(t, api.StateRunning, s.runs[name].status.Status.State)
				}
				s.until(s.now.Add(time.Hour))
				s.state(7)
				require.Len(t, s.runs, 1, "nor once it has ended")
				require.Equal(t, map[string]string{"a": "Completed", "b": "Completed", "mallory": "Completed"}, s.ended(name))
			})
		}
	}
}

// H42: a run of a profile lists all families of the catalog, so that it moves a member whose family nobody stated when it was made.
func TestARunOfAProfileServesFamiliesThatAreStatedLater(t *testing.T) {
	s := manyFamilies(t)
	s.profile([]string{"p"}, "channel: NodeImage\n")
	name := s.expand("auto-p*")
	s.state(5)
	s.until(s.now.Add(time.Hour))
	require.Equal(t, "Completed", s.ended(name)["mallory"])
	m, _ := s.fleet.Member("mallory")
	require.Equal(t, "F5-202402.1.0", m.Inventory.NodePools[0].NodeImageVersion)
	require.Equal(t, api.StateCompleted, s.runs[name].status.Status.State)
}

// H42: with OnRelease a family that a member states has nobody else moved to what was published before the profile was made.
func TestAFamilyThatAMemberStatesReleasesNothingForOthers(t *testing.T) {
	s := manyFamilies(t)
	s.now = s.now.Add(time.Minute)
	s.profile([]string{"p"}, "channel: NodeImage\ntriggerMode: OnRelease\n")
	s.now = s.now.Add(time.Minute)
	s.addImage("F3-202403.1.0", []string{"weu"})
	s.settle()
	require.Empty(t, s.runs, "nobody has what was published")
	s.state(3)
	require.Len(t, s.runs, 1)
	name := s.expand("auto-p*")
	s.until(s.now.Add(time.Hour))
	require.Equal(t, map[string]string{"a": "Skipped NoMatchingPools", "b": "Skipped NoMatchingPools", "mallory": "Completed"}, s.ended(name))
}

// H42: whether a profile waits for regions follows from the catalog and the regions, not from the families that a member states.
func TestAFamilyThatAMemberStatesKeepsNoProfileWaiting(t *testing.T) {
	for behind, runs := range map[string]int{"weu": 0, "eus": 1} {
		for _, families := range [][]int{{0}, {0, 3}, {3}} {
			s := manyFamilies(t)
			s.addImage("F3-202403.1.0", []string{"aue"})
			if behind == "eus" {
				s.publishImage("F3-202403.1.0", []string{"weu"})
			}
			s.profile([]string{"p"}, "channel: NodeImage\ntriggerWhen: AllMemberRegions\n")
			s.state(families...)
			require.Len(t, s.runs, runs, "%s is behind, mallory states %v", behind, families)
		}
	}
}

// H42: a run that was named after the families in use, as runs were before, is not made again under another name, whatever became
// of it, until the catalog has something newer of what it lists.
func TestARunThatWasNamedAfterFamiliesInUseIsKept(t *testing.T) {
	s := newScene(t)
	s.fixture(nil, "")
	s.members(nil, "a region=weu pools=u:U-202312.11.0@1.29.2,w:W-20348.2582.240716@1.29.2")
	s.profile([]string{"images", "quietly"}, "channel: NodeImage\n")
	profile := &api.AutoUpgradeProfile{}
	profile.Name, profile.Spec.Channel = "images", api.ChannelNodeImage
	linux := upgrade.RunHead{Name: "auto-images-nodeimage-13a07634", Profile: "images", State: api.StateStopped, Images: []string{fullImage("U-202401.17.1")}}
	both := upgrade.RunHead{
		Name: "auto-images-nodeimage-68680a53", Profile: "images", State: api.StateNotStarted, BlockedBy: linux.Name,
		Images: []string{fullImage("U-202401.17.1"), fullImage("W-20348.2582.240916")},
	}
	decide := func(runs ...upgrade.RunHead) upgrade.ProfileDecision {
		return upgrade.Reconcile(upgrade.ProfileInput{Profile: profile, Runs: runs, View: s.view(""), Now: s.now})
	}
	for _, state := range []api.UpdateState{api.StateNotStarted, api.StateRunning, api.StateStopped, api.StateFailed, api.StateCompleted} {
		linux.State = state
		require.Nil(t, decide(linux).Create, state)
	}
	for _, runs := range [][]upgrade.RunHead{{linux, both}, {both, linux}} {
		d := decide(runs...)
		require.Equal(t, both.Name, d.Start, "of several the one that lists most is kept")
		require.Empty(t, d.Remove)
		require.Equal(t, both.Images, d.Status.LastTriggerUpgradeVersions)
	}
	foreign := linux
	foreign.Profile = "others"
	require.NotNil(t, decide(foreign).Create, "another profile made it")
	typed := linux
	typed.Name = "by-hand"
	require.NotNil(t, decide(typed).Create)
	s.addImage("U-202402.17.1", []string{"weu"})
	fresh := decide(linux).Create
	require.NotNil(t, fresh)
	require.True(t, slices.ContainsFunc(fresh.Run.Spec.Upgrade.NodeImageSelection.CustomNodeImageVersions, func(image api.NodeImageVersion) bool {
		return image.Version == fullImage("U-202402.17.1")
	}))
}

// A profile whose catalog has no images says so, and makes no run; images that nobody uses are not warned of, however old they are.
func TestImagesOfTheCatalogThatNobodyUses(t *testing.T) {
	s := manyFamilies(t)
	s.now = s.now.Add(80 * 24 * time.Hour)
	s.profile([]string{"p"}, "channel: NodeImage\n")
	require.Equal(t, []string{"image F0-202402.1.0 is 80 days old; images expire after 90"}, s.runs[s.expand("auto-p*")].status.Warnings)

	s = manyFamilies(t)
	s.catalog.NodeImages = nil
	s.addImage("windows-2025-202401.1.0", []string{"weu"})
	s.profile([]string{"p"}, "channel: SecurityPatch\n")
	require.Empty(t, s.runs)
	require.Equal(t, "Failed []: the catalog has no node image for channel SecurityPatch\n  InvalidArgument\n", s.profileStatus([]string{"p"}, ""))
}

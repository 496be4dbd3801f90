package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/uuid"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/subjects"
)

// backup is all of a fleet, in pages.
func (s *slice) backup() (head api.BackupHead, pages []api.BackupPage) {
	s.t.Helper()
	request := api.BackupRequest{Session: string(uuid.NewUUID())}
	for {
		var answer api.BackupResponse
		s.ask(api.VerbBackup, request, &answer)
		pages = append(pages, answer.Page)
		if answer.Page.Next == 0 {
			return answer.Head, pages
		}
		request.From = answer.Page.Next
	}
}

// opened is what a backup holds.
func opened(t testing.TB, head *api.BackupHead, pages []api.BackupPage) (entries []api.BackupEntry) {
	t.Helper()
	for i := range pages {
		found, err := bustest.Keys().OpenPage(head, &pages[i])
		require.NoError(t, err)
		entries = append(entries, found...)
	}
	return entries
}

// begin begins a restore, and returns its session.
func (s *slice) begin(head api.BackupHead, replace bool) (session string, err error) {
	session = string(uuid.NewUUID())
	r := api.RestoreRequest{Session: session, Step: api.RestoreBegin, Head: &head, Replace: replace}
	return session, bus.Request(s.t.Context(), s.fleet.Client, api.VerbRestore, r, nil, bus.RequestOptions{})
}

// restore restores what a backup holds, in pages of three entries, so that there are many.
func (s *slice) restore(head api.BackupHead, pages []api.BackupPage, replace bool) *api.RestoreResponse {
	s.t.Helper()
	session, err := s.begin(head, replace)
	require.NoError(s.t, err)
	entries := opened(s.t, &head, pages)
	for from := 0; from < len(entries); from += 3 {
		next := from + 3
		if next >= len(entries) {
			next = 0
		}
		page, err := bustest.Keys().SealPage(&head, from, next, entries[from:min(from+3, len(entries))])
		require.NoError(s.t, err)
		r := api.RestoreRequest{Session: session, Step: api.RestorePage, Page: &page}
		s.ask(api.VerbRestore, r, nil)
		s.ask(api.VerbRestore, r, nil) // whose answer was lost
	}
	var answer api.RestoreResponse
	s.ask(api.VerbRestore, api.RestoreRequest{Session: session, Step: api.RestoreCommit}, &answer)
	return &answer
}

// reportsUnlisted waits until a hub leads to which a member reports that it runs a placement that is not known.
func (s *slice) reportsUnlisted(member, placement string) {
	s.t.Helper()
	s.fleetStatus(func(status *api.FleetStatus) error {
		for _, p := range status.Problems {
			if p.Reason == "Unlisted" && p.Object == "member/"+member && p.Message == "it runs placements the hub does not know: "+placement {
				return nil
			}
		}
		return fmt.Errorf("%s reports no %s: %+v", member, placement, status.Problems)
	})
}

// A damaged state gets a backup in its place under running agents: what the backup has is as it was, what came
// later is gone from the hub and goes on at members, which report it, and nothing is taken away.
func TestARestoreTearsNothingDown(t *testing.T) {
	s := newSliceWith(t, func(o *dev.Options) { o.Members = append(o.Members, inMemory("tampa")) }, "berlin", "oslo")
	for _, name := range []string{"web", "shop"} {
		s.apply(fmt.Sprintf(toFailOver, name, pickAll, ""))
		s.converges(name, 2, "1")
	}
	head, pages := s.backup()
	require.Len(t, opened(t, &head, pages), head.Records+head.Contents)
	s.admit("tampa")
	s.apply(fmt.Sprintf(toFailOver, "late", pickAll, ""))
	s.converges("late", 3, "1")

	s.damage(subjects.PlacementSpecs.Key("web"), subjects.Releases.Key("shop"))
	s.fleetStatus(damaged)
	answer := s.restore(head, pages, false)
	require.Equal(t, head.Epoch+1, answer.Epoch)
	s.reportsUnlisted("oslo", "late")
	s.converges("web", 2, "1")
	s.converges("shop", 2, "1")
	for _, member := range []string{"berlin", "oslo"} {
		require.Subset(t, s.namespaces(member), []string{"web", "shop", "late"}, member)
	}
	var version api.VersionResponse
	s.ask(api.VerbVersion, nil, &version)
	require.Equal(t, answer.Epoch, version.Epoch)

	s.apply(fmt.Sprintf(toFailOver, "late", pickAll, ""))
	s.converges("late", 2, "1")
	s.fleetStatus(func(status *api.FleetStatus) error {
		if status.Members[string(api.MemberJoining)] != 1 {
			return fmt.Errorf("members are %v: tampa, which was admitted after the backup, waits for that", status.Members)
		}
		return nil
	})
	require.Contains(t, s.namespaces("tampa"), "late")
	s.admit("tampa")
	s.converges("late", 3, "1")
}

// A backup goes into a fleet that has nothing yet, and nothing else is refused after it has begun: what is
// refused is refused before anything is changed.
func TestABackupIsRestoredIntoAnEmptyFleet(t *testing.T) {
	first := newSlice(t, "berlin")
	first.apply(fmt.Sprintf(toFailOver, "web", pickAll, ""))
	first.converges("web", 1, "1")
	head, pages := first.backup()
	entries := opened(t, &head, pages)
	require.Positive(t, head.Contents)
	for _, entry := range entries {
		require.False(t, entry.Content != "" && strings.Contains(string(entry.Value), "kind"), "content is in it as it is sealed")
		require.NotContains(t, string(entry.Value), "\"seed\"", "keys are not in it")
	}

	_, err := first.begin(head, false)
	var refused *api.Failure
	require.ErrorAs(t, err, &refused)
	require.Equal(t, api.CodeRefused, refused.Code)
	require.Contains(t, refused.Message, "state is whole and holds 3 objects")
	require.Equal(t, "flotilla restore --help", refused.Next)
	other, newer, older, sealed, digested := head, head, head, head, head
	other.Fleet, newer.Version, older.Version = "other", api.BackupVersion+1, api.BackupVersion-1
	sealed.Sealing.Content = []string{"0123456789ab"}
	digested.Sealing.Digests = "0123456789ab"
	for text, wrong := range map[string]api.BackupHead{
		"the backup is of fleet other": other, "of a newer build": newer, "of an older build, which stored content otherwise": older,
		"content is sealed with secret 0123456789ab, which this hub does not hold": sealed,
		"its digests are made with secret 0123456789ab":                            digested,
	} {
		_, err := first.begin(wrong, true)
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Message, text)
	}
	first.converges("web", 1, "1")
	requireNoSeeds(t, filepath.Dir(first.fleet.Hub.Server().HubCreds()), entries)

	second := newSlice(t)
	second.restore(head, pages, false)
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		var shown map[string]any
		for kind, name := range map[string]string{api.KindClusterResourcePlacement: "web", api.KindMemberCluster: "berlin"} {
			r := api.GetRequest{Kind: kind, Name: name}
			if err := bus.Request(t.Context(), second.fleet.Client, api.VerbGet, r, &shown, bus.RequestOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	again, whole := second.backup()
	require.Equal(t, head.Contents, again.Contents)
	require.GreaterOrEqual(t, len(opened(t, &again, whole)), len(entries)-5, "what rooms write anew may not be there yet")
	first.restore(head, pages, true)
	first.converges("web", 1, "1")
}

func (s *slice) admit(name string) {
	s.t.Helper()
	s.ask(api.VerbAdmit, api.AdmitRequest{Request: string(uuid.NewUUID()), Name: name}, nil)
}

// seed is a private key of NATS, as files of keys and credentials hold it.
var seed = regexp.MustCompile(`\bS[AOUXN][A-Z2-7]{56}\b`)

// requireNoSeeds finds none of the private keys that lie in the folder of a hub in a backup.
func requireNoSeeds(t *testing.T, dir string, entries []api.BackupEntry) {
	t.Helper()
	var keys []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(path) != ".blk" {
			text, err := os.ReadFile(path)
			keys = append(keys, seed.FindAllString(string(text), -1)...)
			return err
		}
		return err
	}))
	require.NotEmpty(t, keys, "the folder of a hub has keys")
	for _, e := range entries {
		for _, key := range keys {
			require.NotContains(t, string(e.Value), key, "%s%s", e.Record, e.Content)
		}
	}
}

package salvage

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// headOf is the head of a backup of a store, of so many records.
func headOf(s *store.Store, records int) *api.BackupHead {
	return &api.BackupHead{Kind: api.KindBackup, Version: api.BackupVersion, Fleet: bustest.Fleet, Sealing: streams.Sealing(s.Keys), Salt: make([]byte, 32), Records: records}
}

// paged is a page of a backup that begins with an entry.
func paged(t *testing.T, s *store.Store, head *api.BackupHead, from, next int, entries ...api.BackupEntry) *api.BackupPage {
	t.Helper()
	page, err := s.Keys.SealPage(head, from, next, entries)
	require.NoError(t, err)
	return &page
}

// step is a request of a restore as it comes.
func step(t *testing.T, step string, head *api.BackupHead, page *api.BackupPage) []byte {
	t.Helper()
	body, err := json.Marshal(api.RestoreRequest{Session: "a", Step: step, Replace: true, Head: head, Page: page})
	require.NoError(t, err)
	return body
}

// A backup whose head or first page somebody changed, or whose records cannot be stored, is refused while the hub goes on to lead.
func TestAHubLeadsOnWhenABackupCannotBeRead(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	stood := 0
	restore := Whole(leader, func() { stood++ })[api.VerbRestore]
	head, changed := headOf(leader, 1), headOf(leader, 2)
	entry := api.BackupEntry{Record: "schedule.web", Value: []byte("{}")}
	page := paged(t, leader, head, 0, 0, entry)
	torn := *page
	torn.Sealed = append([]byte{torn.Sealed[0] ^ 1}, torn.Sealed[1:]...)
	for what, c := range map[string]struct {
		head *api.BackupHead
		page *api.BackupPage
		text string
	}{
		"a page that was changed":            {head, &torn, "entry 0 and on of the backup: "},
		"a head that was changed":            {changed, page, "entry 0 and on of the backup: "},
		"a record that cannot be stored":     {head, paged(t, leader, head, 0, 0, entry, api.BackupEntry{Record: "schedule.a b", Value: []byte("{}")}), "1 record of the backup cannot be stored"},
		"content whose place is none":        {head, paged(t, leader, head, 0, 0, entry, api.BackupEntry{Content: "a b", Value: []byte("x")}), "1 body of the backup cannot be stored"},
		"a record that nobody could call so": {head, paged(t, leader, head, 0, 0, api.BackupEntry{Value: []byte("{}")}), "1 record of the backup cannot be stored"},
	} {
		_, err := restore(t.Context(), api.Caller{}, step(t, api.RestoreBegin, c.head, c.page))
		require.ErrorContains(t, err, c.text, what)
		require.ErrorContains(t, err, "nothing was changed", what)
		require.Zero(t, stood, what)
	}
	for _, first := range []*api.BackupPage{page, nil} {
		stood = 0
		_, err := restore(t.Context(), api.Caller{}, step(t, api.RestoreBegin, head, first))
		require.ErrorContains(t, err, "the hub stops leading for a restore: ask again")
		require.Equal(t, 1, stood)
	}
}

// Records of a backup that no server stores, or whose names nobody reads, are named at once before anything is changed: no hub would lead on
// what a restore leaves that breaks off at one.
func TestRecordsThatCannotBeStoredAreNamedAtOnce(t *testing.T) {
	leader := bustest.Start(t).Lead(t)
	_, err := leader.Writer.Write(t.Context(), store.Put("schedule.web", api.Schedule{Placement: "web"}, 0))
	require.NoError(t, err)
	s := New(leader, Options{Log: zerolog.Nop()})
	entries := []api.BackupEntry{
		{Record: "schedule.other", Value: []byte("{}")},
		{Record: "schedule.empty"},
		{Record: "schedule.long", Value: fmt.Appendf(nil, "%q", bustest.Noise(3*bus.MaxValue))},
	}
	for i := range 23 {
		entries = append(entries, api.BackupEntry{Record: fmt.Sprintf("verdict.a b%02d", i), Value: []byte("{}")})
	}
	head := headOf(leader, len(entries))
	for _, r := range []api.RestoreRequest{
		{Step: api.RestoreBegin, Head: head, Replace: true},
		{Step: api.RestorePage, Page: paged(t, leader, head, 0, 0, entries...)},
	} {
		r.Session = "a"
		_, err = s.receive(t.Context(), api.Caller{}, &r)
		require.NoError(t, err)
	}
	_, err = s.receive(t.Context(), api.Caller{}, &api.RestoreRequest{Session: "a", Step: api.RestoreCommit})
	var failure *api.Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "25 records of the backup cannot be stored; nothing was changed; the first 20 are named", failure.Message)
	require.Len(t, failure.Faults, 20)
	for _, text := range []string{`"schedule.empty": found a value of 0 bytes`, `"schedule.long": found a value of`, `"verdict.a b00": found " " at byte 9`} {
		require.Contains(t, failure.Faults.Error(), text)
	}
	require.Equal(t, []string{"schedule.web"}, leader.State.Keys("schedule."))
	require.Zero(t, leader.State.Revision(subjects.RestoringKey))
	_, err = leader.Writer.Write(t.Context(), store.Put("schedule.later", api.Schedule{}, 0))
	require.NoError(t, err, "this hub leads on")
}

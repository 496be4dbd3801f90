package salvage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// reasonRestored is the reason of the event that tells of a restore.
const reasonRestored = "Restored"

// incoming is a backup that comes page by page. Nothing of state changes before all of it is here.
type incoming struct {
	session string
	head    api.BackupHead
	records map[string][]byte
	next    int  // entry to come
	whole   bool // none is to come
}

// mayRestore says whether a backup may take the place of the state of a store.
func mayRestore(store *store.Store, r *api.RestoreRequest) error {
	refuse := func(text, next string) error {
		return &api.Failure{Code: api.CodeRefused, Message: text + "; nothing was changed", Next: next}
	}
	fleet := store.Conn.Fleet.Name
	switch {
	case r.Head == nil || r.Head.Kind != api.KindBackup || r.Session == "":
		return &api.Failure{Code: api.CodeInvalid, Message: "a restore begins with the head of a backup and a session"}
	case r.Head.Readable() != nil:
		return refuse(r.Head.Readable().Error(), "flotilla version")
	case r.Head.Fleet != fleet:
		return refuse(fmt.Sprintf("the backup is of fleet %s, this is fleet %s", r.Head.Fleet, fleet), "flotilla backup --help")
	}
	if err := streams.CheckSealing(&r.Head.Sealing, store.Keys); err != nil {
		return refuse("the backup cannot be opened: "+err.Error(), "flotilla secrets --help")
	}
	if objects := len(store.State.Keys(subjects.SpecPrefix)); store.Damage == nil && objects > 0 && !r.Replace {
		return refuse(fmt.Sprintf("state is whole and holds %d objects", objects), "flotilla restore --help")
	}
	if r.Page == nil { // as clients of before begin
		return nil
	}
	entries, err := open(store, r.Head, r.Page)
	if err != nil {
		return err
	}
	return check(store.Conn.Fleet, recordsOf(entries))
}

// open returns the entries of a page, which vouches for the whole head. Bodies among them can be stored.
func open(store *store.Store, head *api.BackupHead, page *api.BackupPage) ([]api.BackupEntry, error) {
	entries, err := store.Keys.OpenPage(head, page)
	if err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("entry %d and on of the backup: %s; nothing was changed", page.From, err), Next: "flotilla restore --help"}
	}
	return entries, checkContent(store.Conn.Fleet, entries)
}

// receive takes one step of a restore.
func (s *Salvage) receive(ctx context.Context, by api.Caller, r *api.RestoreRequest) (any, error) {
	if r.Step == api.RestoreBegin {
		if err := mayRestore(s.store, r); err != nil {
			return nil, err
		}
		if s.incoming == nil || s.incoming.session != r.Session {
			s.incoming = &incoming{session: r.Session, head: *r.Head, records: map[string][]byte{}}
		}
		return &api.RestoreResponse{}, nil
	}
	in := s.incoming
	if in == nil || in.session != r.Session {
		return nil, &api.Failure{Code: api.CodeConflict, Message: "the hub does not know this restore, or another one began; nothing was changed", Next: "flotilla restore --help"}
	}
	switch r.Step {
	case api.RestorePage:
		return s.page(ctx, in, r.Page)
	case api.RestoreCommit:
		return s.commit(ctx, by, in)
	}
	return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("step %q of a restore, expected begin, page or commit", r.Step)}
}

// page opens a page, keeps its records, and stores its bodies, which nothing refers to yet. A page that was taken is not
// taken again.
func (s *Salvage) page(ctx context.Context, in *incoming, page *api.BackupPage) (any, error) {
	switch {
	case page == nil:
		return nil, &api.Failure{Code: api.CodeInvalid, Message: "found no page of a backup; nothing was changed"}
	case in.whole || page.From < in.next:
		return &api.RestoreResponse{Records: len(in.records)}, nil
	case page.From > in.next:
		return nil, &api.Failure{Code: api.CodeConflict, Message: fmt.Sprintf("entry %d came for %d; nothing was changed", page.From, in.next), Next: "flotilla restore --help"}
	}
	entries, err := open(s.store, &in.head, page)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if err := s.keep(ctx, in, &entries[i]); err != nil {
			return nil, err
		}
	}
	in.next, in.whole = page.Next, page.Next == 0
	return &api.RestoreResponse{Records: len(in.records)}, nil
}

func (s *Salvage) keep(ctx context.Context, in *incoming, e *api.BackupEntry) error {
	if e.Content == "" {
		in.records[e.Record] = e.Value
		return nil
	}
	if err := s.store.Content.PutRaw(ctx, e.Content, e.Value); err != nil {
		return fmt.Errorf("storing content %s: %w", e.Content, err)
	}
	return nil
}

// commit puts the records in the place of state. It is done once.
func (s *Salvage) commit(ctx context.Context, by api.Caller, in *incoming) (any, error) {
	if !in.whole || len(in.records) != in.head.Records {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: fmt.Sprintf("%d of %d records came; nothing was changed", len(in.records), in.head.Records)}
	}
	records, err := gently(in.records)
	if err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: err.Error() + "; nothing was changed"}
	}
	s.people(records)
	s.agents(records)
	if err := check(s.store.Conn.Fleet, records); err != nil {
		return nil, err
	}
	held, err := s.store.HeldEpoch(ctx)
	if err != nil {
		return nil, err
	}
	epoch, err := s.store.Replace(ctx, records, max(held, in.head.Epoch))
	if err != nil {
		return nil, fmt.Errorf("restoring: %w; it is safe to restore again", err)
	}
	s.answer = &api.RestoreResponse{Damage: s.damage(), Records: len(records), Epoch: epoch}
	s.store.Audit.Record(by.Audit(api.Audit{
		Object: "fleet/state", Type: "Normal", Reason: reasonRestored,
		Message: fmt.Sprintf("restored %d records as of %s; epoch %d begins", len(records), in.head.At.UTC().Format("2006-01-02T15:04:05Z"), epoch),
	}))
	s.options.Log.Warn().Int("records", len(records)).Time("of", in.head.At.Time).Uint64("epoch", epoch).Msg("restored")
	close(s.decided)
	return s.answer, nil
}

// generations is by how much a restore raises those of releases, so that no result of later is taken for one of
// what was restored.
const generations = 1 << 20

// gently is what records become so that a restore takes nothing from any member: withdrawals and disruptions of
// nodes that were under way are forgotten. What a member runs beyond it is reported as unlisted.
func gently(records map[string][]byte) (map[string][]byte, error) {
	out := maps.Clone(records)
	for key, value := range records {
		switch {
		case strings.HasPrefix(key, subjects.Disruptions.Prefix()):
			delete(out, key)
		case strings.HasPrefix(key, subjects.Locks.Prefix()):
			var lock api.MemberLock
			if json.Unmarshal(value, &lock) != nil || !strings.HasPrefix(lock.Owner, "run ") {
				delete(out, key)
			}
		case strings.HasPrefix(key, subjects.Releases.Prefix()):
			raised, err := raise(value)
			if err != nil {
				return nil, fmt.Errorf("record %s: %w", key, err)
			}
			out[key] = raised
		}
	}
	return out, nil
}

// raise takes withdrawn entries out of a release, and raises the generations of the others.
func raise(value []byte) ([]byte, error) {
	var release api.Release
	if err := json.Unmarshal(value, &release); err != nil {
		return nil, err
	}
	release.Entries = slices.DeleteFunc(release.Entries, func(e api.ReleaseEntry) bool { return e.Withdrawn })
	release.Step += generations
	for i := range release.Entries {
		release.Entries[i].Generation += generations
	}
	return json.Marshal(&release)
}

package salvage

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/seal"
)

const (
	// pageBytes is how much a page holds, unless it is a single entry, which may be a whole body.
	pageBytes = 1 << 20
	// sessions is how many backups may be under way.
	sessions = 4
)

// moment is what a backup is of.
type moment struct {
	began    time.Time // before anything was noted
	head     api.BackupHead
	records  map[string][]byte
	keys     []string // of records
	contents []string
}

// backups hands out state, page by page.
type backups struct {
	store *store.Store

	mu    sync.Mutex
	known map[string]*moment
	order []string // sessions, oldest first
}

func newBackups(store *store.Store) *backups {
	return &backups{store: store, known: map[string]*moment{}}
}

func (b *backups) answer(ctx context.Context, _ api.Caller, body []byte) (any, error) {
	var request api.BackupRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, unreadable(err)
	}
	m, err := b.moment(ctx, &request)
	if err != nil {
		return nil, err
	}
	page, err := b.page(ctx, m, request.From)
	if err == nil {
		err = b.late(m)
	}
	if err != nil {
		return nil, err
	}
	return &api.BackupResponse{Head: m.head, Page: page}, nil
}

// late refuses a backup that has taken so long that content may be gone by now which its records refer to.
func (b *backups) late(m *moment) error {
	took := b.store.Now().Sub(m.began)
	if took < streams.SweepAfter {
		return nil
	}
	return &api.Failure{
		Code: api.CodeConflict, Next: "flotilla backup --help", Message: fmt.Sprintf(
			"this backup has taken %s, expected less than %s: what it is of is kept no longer, and it would lack objects; begin another, over a faster connection",
			took.Round(time.Second), streams.SweepAfter),
	}
}

// moment is that of a session, taken with its first page.
func (b *backups) moment(ctx context.Context, request *api.BackupRequest) (*moment, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.known[request.Session]; m != nil {
		return m, nil
	}
	if request.From > 0 || request.Session == "" {
		return nil, &api.Failure{Code: api.CodeConflict, Message: "the hub that began this backup does not lead any more", Next: "flotilla backup --help"}
	}
	m, err := b.take(ctx)
	if err != nil {
		return nil, err
	}
	b.known[request.Session] = m
	if b.order = append(b.order, request.Session); len(b.order) > sessions {
		delete(b.known, b.order[0])
		b.order = b.order[1:]
	}
	return m, nil
}

// take notes state as it is now. Content is only ever added, and what records refer to stays for an hour after
// they do not any more.
func (b *backups) take(ctx context.Context) (*moment, error) {
	began := b.store.Now()
	records, err := b.store.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("reading state: %w", err)
	}
	contents, err := b.store.Content.Listed(ctx)
	if err != nil {
		return nil, err
	}
	m := &moment{began: began, records: records, keys: slices.Sorted(maps.Keys(records)), contents: contents}
	salt := make([]byte, seal.KeyBytes)
	if _, err := rand.Read(salt); err != nil {
		return nil, err
	}
	m.head = api.BackupHead{
		Kind: api.KindBackup, Version: api.BackupVersion, Fleet: b.store.Conn.Fleet.Name, At: metav1.NewTime(b.store.Now()),
		Sealing: streams.Sealing(b.store.Keys), Salt: salt, Epoch: b.store.Term.Epoch, Term: b.store.Term.Term, Records: len(records), Contents: len(contents),
	}
	return m, nil
}

// page is what begins with an entry, sealed: records first, then content.
func (b *backups) page(ctx context.Context, m *moment, from int) (page api.BackupPage, err error) {
	from = max(from, 0)
	all := len(m.keys) + len(m.contents)
	at, size := from, 0
	var entries []api.BackupEntry
	for ; at < all; at++ {
		entry, err := b.entry(ctx, m, at)
		if errors.Is(err, bus.ErrNotFound) { // swept since
			continue
		}
		if err != nil {
			return page, err
		}
		if size += len(entry.Value); size > pageBytes && len(entries) > 0 {
			break
		}
		entries = append(entries, entry)
	}
	if at >= all {
		at = 0
	}
	return b.store.Keys.SealPage(&m.head, from, at, entries)
}

func (b *backups) entry(ctx context.Context, m *moment, at int) (api.BackupEntry, error) {
	if at < len(m.keys) {
		key := m.keys[at]
		return api.BackupEntry{Record: key, Value: m.records[key]}, nil
	}
	digest := m.contents[at-len(m.keys)]
	body, err := b.store.Content.Raw(ctx, digest)
	return api.BackupEntry{Content: digest, Value: body}, err
}

func unreadable(err error) error {
	return &api.Failure{Code: api.CodeInvalid, Message: "reading the request: " + err.Error()}
}

package crowd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/hub/door"
	"flotilla/hub/registrar"
	"flotilla/subjects"
)

// found makes what there is of the fleet before its hub leads, as another one would have left it that had no room but the
// door and the registrar: members, who have beaten. While 10,000 members come the other rooms of a
// whole hub would look at each of them again and again.
func (f *Fleet) found(ctx context.Context) error {
	s, err := server.Start(f.serving())
	if err != nil {
		return err
	}
	defer s.Shutdown()
	defer f.disconnect()
	if err := f.connect(ctx, s); err != nil {
		return err
	}
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	var made error
	err = store.Lead(leading, f.stage(), "crowd", f.leads(), func(ctx context.Context, s *store.Store) error {
		defer cancel()
		made = f.make(ctx, s)
		return nil
	})
	return errors.Join(err, made)
}

// leads is how hubs of the fleet lead.
func (f *Fleet) leads() store.LeadOptions {
	return store.LeadOptions{Layout: roomFor(f.options.Members), Secrets: bustest.ReadKeys}
}

// make has people and players come to the two rooms, which end when all is there.
func (f *Fleet) make(ctx context.Context, s *store.Store) error {
	silent, others := parted(f.players)
	if err := each(ctx, silent, f.enter); err != nil { // whose silence is waited for, at once
		return err
	}
	if err := f.enrol(ctx, s.Writer); err != nil {
		return err
	}
	working, cancel := context.WithCancel(ctx)
	var rooms sync.WaitGroup
	defer rooms.Wait()
	defer cancel()
	thresholds := liveness.Thresholds{Timeout: starting} // players beat once, and nobody is silent yet however long all take
	for _, run := range []func(context.Context) error{
		registrar.New(s, registrar.Options{Thresholds: thresholds, Log: zerolog.Nop()}).Run,
		door.New(s, door.Options{Replica: "crowd", Log: zerolog.Nop()}).Run,
	} {
		rooms.Go(func() {
			if err := run(working); err != nil && working.Err() == nil {
				f.fail(err)
			}
		})
	}
	if err := f.admit(ctx); err != nil {
		return err
	}
	if err := each(ctx, others, f.enter); err != nil {
		return err
	}
	records := store.TableOf[api.MemberRecord](s.State, subjects.Members)
	return f.await(ctx, func(context.Context) error { return f.come(records.All()) })
}

// parted are the players who fall silent, and all others.
func parted(players []*player) (silent, others []*player) {
	for _, p := range players {
		if p.part == partSilent {
			silent = append(silent, p)
		} else {
			others = append(others, p)
		}
	}
	return silent, others
}

// come says which members the registrar has yet to hear of: all but that of the real agent beat.
func (f *Fleet) come(records []store.Entry[api.MemberRecord]) error {
	came := 0
	for i := range records {
		if !records[i].Value.LastSeen.IsZero() && (records[i].Value.State != api.MemberJoining || f.byName[records[i].Name].part == partJoining) {
			came++
		}
	}
	if came < len(f.players) {
		return fmt.Errorf("%d of %d members came", came, len(f.players))
	}
	return nil
}

// enrol writes the identities of all players, as an enroller would have left them. That 10,000 agents enrol takes more than a
// minute of processor time, most of it in tokens, keys and credentials that no player needs.
func (f *Fleet) enrol(ctx context.Context, w *store.Writer) error {
	var ops []store.Op
	for _, p := range f.players {
		identity, err := p.identity(f.now())
		if err != nil {
			return err
		}
		ops = append(ops, store.Put(subjects.Identities.Key(p.name), identity, 0))
	}
	for len(ops) > 0 {
		n := min(len(ops), perApply)
		if _, err := w.Write(ctx, ops[:n]...); err != nil {
			return fmt.Errorf("writing identities: %w", err)
		}
		ops = ops[n:]
	}
	return nil
}

// identity is what an enroller keeps of a player that registered its keys. Nobody shows the key to a server.
func (p *player) identity(now time.Time) (api.Identity, error) {
	of := sha256.Sum256([]byte(p.name))
	key, err := nkeys.Encode(nkeys.PrefixByteUser, of[:])
	if err != nil {
		return api.Identity{}, err
	}
	sealing, err := p.sealing.PublicKey()
	if err != nil {
		return api.Identity{}, err
	}
	at := now.UTC().Truncate(time.Second)
	identity := api.Identity{
		Header: api.NewHeader(api.KindIdentity), Name: p.name, Key: string(key), SealingKey: sealing, Enrolled: metav1.NewTime(at),
		Role: api.AgentAdmitted, Issued: metav1.NewTime(at), Ends: metav1.NewTime(at.Add(api.CredentialsLife)), Serial: at.UnixNano(), Admitted: true,
	}
	if p.part == partJoining {
		identity.Role, identity.Admitted = api.AgentJoining, false
	}
	return identity, nil
}

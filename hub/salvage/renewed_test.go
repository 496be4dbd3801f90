package salvage_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/salvage"
	"flotilla/subjects"
)

// stopped has written schedules, and was stopped in good order: when its server starts again it reads no file before
// it needs to.
func stopped(t *testing.T, schedules int) *bustest.Server {
	t.Helper()
	server := bustest.Start(t)
	ctx, stop := context.WithCancel(bustest.Context(t))
	defer stop()
	c := server.Hub(t)
	require.NoError(t, store.Lead(ctx, c, "hub-test", store.LeadOptions{Secrets: bustest.ReadKeys}, func(ctx context.Context, store *store.Store) error {
		defer stop()
		return rewrite(ctx, store, schedules)
	}))
	c.Close()
	server.Stop(t)
	return server
}

// rewrite writes schedules, whether they are there or not.
func rewrite(ctx context.Context, leader *store.Store, schedules int) error {
	for i := range schedules {
		name := fmt.Sprintf("p%d", i)
		key := subjects.Schedules.Key(name)
		if _, err := leader.Writer.Write(ctx, store.Put(key, api.Schedule{Placement: name}, leader.State.Revision(key))); err != nil {
			return err
		}
	}
	return nil
}

// accept leads, accepts the loss of what is gone, and leads again.
func accept(t *testing.T, server *bustest.Server) *store.Store {
	t.Helper()
	leader := bustest.Lead(t, server.Hub(t), "hub-test", store.LeadOptions{})
	if leader.Damage == nil {
		return leader
	}
	goOn(t, server, leader)
	again := bustest.Lead(t, server.Hub(t), "hub-test", store.LeadOptions{})
	require.Greater(t, again.Term.Epoch, leader.Term.Epoch, "numbers of what is gone are given again")
	return again
}

// goOn accepts the loss.
func goOn(t *testing.T, server *bustest.Server, store *store.Store) {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		ended <- salvage.New(store, salvage.Options{Log: store.Conn.Log}).Run(context.WithoutCancel(t.Context()))
	}()
	require.NoError(t, bus.Request(bustest.Context(t), server.Client(t), api.VerbRestore, api.RestoreRequest{AcceptLoss: true}, nil, bus.RequestOptions{}))
	require.NoError(t, <-ended)
}

// Bytes are turned over while a server is stopped in good order. Once the loss is accepted every record can be written
// again, also those that are gone, and no start of the server takes more away.
func TestWhatWasDamagedIsWrittenAgain(t *testing.T) {
	const schedules, cuts = 60, 12
	server := stopped(t, schedules)
	damaged := 0
	for cut := range cuts {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			copied := server.Copied(t, func(dir string) { turnOver(t, dir, cut, cuts) })
			leader := accept(t, copied)
			require.Nil(t, leader.Damage)
			if len(leader.State.Keys(subjects.Schedules.Prefix())) < schedules {
				damaged++
			}
			require.NoError(t, rewrite(bustest.Context(t), leader, schedules))
			killed := copied.Copied(t, func(string) {})
			again := bustest.Lead(t, killed.Hub(t), "hub-test", store.LeadOptions{})
			require.Nil(t, again.Damage)
			require.Len(t, again.State.Keys(subjects.Schedules.Prefix()), schedules)
		})
	}
	require.Greater(t, damaged, cuts/2)
}

// turnOver turns over 64 bytes of the file of state, at one of so many places.
func turnOver(t *testing.T, dir string, place, of int) {
	t.Helper()
	name := subjects.Fleet{Name: bustest.Fleet}.BucketStream(subjects.State)
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".blk" || filepath.Base(filepath.Dir(filepath.Dir(path))) != name {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		at := len(body) * place / of
		for i := at; i < min(at+64, len(body)); i++ {
			body[i] ^= 0xff
		}
		return os.WriteFile(path, body, 0o600)
	}))
}

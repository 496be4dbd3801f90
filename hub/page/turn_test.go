package page

import (
	"context"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/tests/elsewhen"
)

// One slow picture holds nobody whom nobody waits for, and no more than so many; who waits gets what is drawn then.
func TestASlowPictureHoldsNobodyWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
		d := newDrawn(&Page{options: Options{Now: func() time.Time { return now }}})
		drawings, slow := 0, make(chan struct{})
		at := &screen{draw: func(*visit) (*drawing, error) {
			drawings++
			<-slow
			return &drawing{Title: "slow"}, nil
		}}
		look := func(ctx context.Context) error {
			_, err := d.of(&visit{ctx: ctx, page: d.page, url: &url.URL{Path: "/"}, fleet: &sight{turn: 1}}, at)
			return err
		}
		drew := make(chan error, 1)
		go func() { drew <- look(t.Context()) }()
		synctest.Wait()

		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, mostWaiting)
		for range mostWaiting - 1 {
			go func() { left <- look(ctx) }()
		}
		stays := make(chan error, 1)
		go func() { stays <- look(t.Context()) }()
		synctest.Wait()
		failure := &api.Failure{}
		require.ErrorAs(t, look(t.Context()), &failure)
		require.Equal(t, api.CodeUnavailable, failure.Code)
		leave()
		for range mostWaiting - 1 {
			require.ErrorIs(t, <-left, context.Canceled)
		}
		close(slow)
		require.NoError(t, <-drew)
		require.NoError(t, <-stays)
		require.Equal(t, 1, drawings)
	})
}

// What is kept of a screen holds on to no fleet of a former turn: its table is made of another drawing when somebody asks.
func TestWhatIsKeptHoldsNoFleet(t *testing.T) {
	d := newDrawn(&Page{options: Options{Now: elsewhen.Now}})
	at := &screen{draw: func(*visit) (*drawing, error) {
		return &drawing{Title: "all", Table: made(func() *overview.Table { return &overview.Table{} })}, nil
	}}
	kept, err := d.of(&visit{ctx: t.Context(), page: d.page, url: &url.URL{Path: "/"}, fleet: &sight{turn: 1}}, at)
	require.NoError(t, err)
	require.True(t, kept.tabled)
	require.Nil(t, kept.Table)
	require.Nil(t, kept.Parts)
}

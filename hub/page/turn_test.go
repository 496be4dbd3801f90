package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/loop"
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
}

// Screens and tables of one person are drawn in their lane (H39): others wait for none of them.
func TestScreensAreDrawnInALaneOfThePerson(t *testing.T) {
	templates, err := parseTemplates()
	require.NoError(t, err)
	p := &Page{options: Options{Now: elsewhen.Now}, templates: templates, lanes: loop.Lanes{Wide: 1, Most: 1}}
	p.drawn = newDrawn(p)
	at := &screen{draw: func(v *visit) (*drawing, error) {
		if v.person.Name == "eve" {
			_, err := v.lane()
			require.Error(t, err, "it is hers already")
		}
		return &drawing{Title: "all", Table: made(func() *overview.Table { return &overview.Table{Value: []string{}} })}, nil
	}}
	visit := func(name string) *visit {
		return &visit{ctx: t.Context(), page: p, person: api.Person{Name: name}, url: &url.URL{Path: "/" + name}, fleet: &sight{turn: 1}}
	}
	leave, err := visit("eve").lane()
	require.NoError(t, err)
	_, err = p.draw(visit("eve"), at)
	failure := &api.Failure{}
	require.ErrorAs(t, err, &failure)
	require.Equal(t, api.CodeLimit, failure.Code)
	export := func(name string) int {
		w := httptest.NewRecorder()
		p.export(w, httptest.NewRequest(http.MethodGet, "/all.json", http.NoBody), visit(name), at, "json")
		return w.Code
	}
	require.Equal(t, http.StatusUnprocessableEntity, export("eve"))
	_, err = p.draw(visit("anna"), at)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, export("anna"))
	leave()
	_, err = p.draw(visit("eve"), at)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, export("eve"))
}

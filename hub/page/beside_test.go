package page

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/overview"
)

// slow is a beside whose answers come when they are let go.
type slow struct {
	*beside[string]
	end     context.CancelFunc
	now     time.Time
	asked   chan string
	answers chan func() (string, error)
}

func newSlow(t *testing.T) *slow {
	t.Helper()
	s := &slow{now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), asked: make(chan string, 8), answers: make(chan func() (string, error))}
	ctx, cancel := context.WithCancel(t.Context())
	seen := &survey{now: func() time.Time { return s.now }, changed: make(chan struct{}), follows: true, seen: &sight{Fleet: &overview.Fleet{}}}
	s.end = cancel
	s.beside = newBeside(ctx, seen, func(ctx context.Context, key string) (string, error) {
		s.asked <- key
		select {
		case answer := <-s.answers:
			return answer()
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	t.Cleanup(func() { cancel(); s.all.Wait() })
	return s
}

// answer lets an answer go that takes so long, and waits until it is there.
func (s *slow) answer(took time.Duration, text string, err error) {
	s.answers <- func() (string, error) {
		s.now = s.now.Add(took)
		return text, err
	}
	s.all.Wait()
}

func TestWhatIsAskedBesideNeverHoldsAStreamUp(t *testing.T) {
	s := newSlow(t)
	streaming := context.WithValue(t.Context(), collected{}, &[]rendered{})
	first := s.of(streaming, "spring")
	require.True(t, first.At.IsZero(), "it is not there yet")
	require.Equal(t, "spring", <-s.asked)
	s.of(streaming, "spring")
	require.Empty(t, s.asked, "it is asked once for everybody")
	_, changed := s.survey.newest()
	s.answer(time.Second, "ends at four", nil)
	select {
	case <-changed:
	default:
		t.Fatal("the screens are not drawn anew")
	}
	begun := s.now.Add(-time.Second)
	got := s.of(t.Context(), "spring")
	require.Equal(t, []any{"ends at four", begun, ""}, []any{got.Value, got.At.Time, got.Why})

	s.now = begun.Add(time.Second + besideShare*time.Second - 1)
	s.of(t.Context(), "spring")
	require.Empty(t, s.asked, "what takes a second is asked after twenty")
	s.now = s.now.Add(1)
	require.Equal(t, "ends at four", s.of(t.Context(), "spring").Value, "the old answer stands meanwhile")
	require.Equal(t, "spring", <-s.asked)
	s.answer(0, "", errors.New("nobody leads"))
	got = s.of(t.Context(), "spring")
	require.Equal(t, []any{"ends at four", begun, "nobody leads"}, []any{got.Value, got.At.Time, got.Why}, "and is said to be old")
}

// Who loads a page, which is not drawn anew without scripts, waits for a first answer that comes soon.
func TestTheFirstAnswerIsWaitedFor(t *testing.T) {
	s := newSlow(t)
	go func() { s.answers <- func() (string, error) { return "ends at four", nil } }()
	require.Equal(t, "ends at four", s.of(t.Context(), "spring").Value)
}

func TestNothingIsAskedBesideAPageThatEnded(t *testing.T) {
	s := newSlow(t)
	s.end()
	require.Empty(t, s.of(t.Context(), "spring").Value)
	require.Empty(t, s.asked)
}

package keeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/agent/keeper"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// hub is a connection whose answers a test makes.
type hub struct {
	mu      sync.Mutex
	after   time.Duration
	never   bool
	down    error
	role    string
	given   member.Given
	answers []error // one after the other, the last for ever; nil gives credentials
	asked   []time.Time
	connect func()
}

func (h *hub) EnrolIn() (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.after, !h.never
}

func (h *hub) Up() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.down
}

func (h *hub) Role() string { return h.role }

func (h *hub) OnConnect(f func()) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.connect = f
	return func() {}
}

// due says that credentials are to be asked for at once.
func (h *hub) due() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.after = 0
}

// back says that the connection is there again.
func (h *hub) back() {
	h.mu.Lock()
	h.down = nil
	connect := h.connect
	h.mu.Unlock()
	connect()
}

func (h *hub) Enrol(context.Context) (member.Given, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, elsewhen.Now())
	err := h.answers[0]
	if len(h.answers) > 1 {
		h.answers = h.answers[1:]
	}
	if err == nil {
		h.never = true
	}
	return h.given, err
}

// What fails is told for as long as it does.
func TestItSaysWhyThereAreNoCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, err := range map[string]error{
			"TokenUsed: used at noon by key U": &api.EnrolmentRefusal{Reason: "TokenUsed", Message: "used at noon by key U"},
			"no hub answers what it asks":      fmt.Errorf("asking for credentials: %w", context.DeadlineExceeded),
			"disk full":                        errors.New("disk full"),
		} {
			h := &hub{role: api.AgentAdmitted, answers: []error{err, err, nil}}
			k := keeper.New(keeper.Options{Member: "berlin", Hub: h, Log: zerolog.Nop()})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- k.Run(ctx) }()
			synctest.Wait()
			require.Equal(t, want, k.Failing())
			<-time.After(10 * time.Minute)
			require.Empty(t, k.Failing())
			cancel()
			require.NoError(t, <-ended)
		}
	})
}

// keep runs a keeper for so long and returns what it logged.
func keep(t *testing.T, h *hub, during time.Duration) string {
	var log bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	require.NoError(t, keeper.New(keeper.Options{Member: "berlin", Hub: h, Log: zerolog.New(&log)}).Run(ctx))
	return log.String()
}

func TestItAsksUntilItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hub{answers: []error{errors.New("nobody"), errors.New("nobody"), nil}}
		log := keep(t, h, time.Hour)
		require.Len(t, h.asked, 3)
		require.Less(t, h.asked[2].Sub(h.asked[0]), time.Second)
		require.Contains(t, log, "the agent of berlin has credentials")
	})
}

func TestItAsksWhenHalfOfTheTimeHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := elsewhen.Now()
		h := &hub{after: 10 * time.Minute, answers: []error{nil}}
		time.AfterFunc(5*time.Minute, h.due)
		keep(t, h, time.Hour)
		require.Len(t, h.asked, 1)
		require.GreaterOrEqual(t, h.asked[0].Sub(began), 10*time.Minute)
	})
}

// A refusal that only a person can change is said once, and tried now and then.
func TestARefusalIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hub{answers: []error{&api.EnrolmentRefusal{Reason: "TokenUsed", Message: "used at noon by key U"}}}
		log := keep(t, h, time.Hour-time.Second)
		require.Len(t, h.asked, 60)
		require.Equal(t, 1, strings.Count(log, "used at noon by key U"))
		require.Contains(t, log, `"level":"error"`)
	})
}

func TestNobodyIsAskedWithoutAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hub{down: errors.New("down"), answers: []error{nil}}
		time.AfterFunc(time.Minute, h.back)
		began := elsewhen.Now()
		keep(t, h, 10*time.Minute)
		require.Len(t, h.asked, 1)
		require.Equal(t, time.Minute, h.asked[0].Sub(began))
	})
}

// An agent that waits for its member to be admitted asks again at once, and is not noisy about it.
func TestWhoJoinsKeepsAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hub{role: api.AgentJoining, answers: []error{context.DeadlineExceeded}}
		require.Empty(t, keep(t, h, 950*time.Millisecond))
		require.Len(t, h.asked, 10)
	})
}

// Whoever admits a member compares its key with the one that the agent logs.
func TestItSaysByWhichKeyItIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hub{answers: []error{nil}, given: member.Given{Role: api.AgentJoining, Key: "UABC"}}
		require.Contains(t, keep(t, h, time.Hour), "is enrolled, with key UABC; it is heard, and works once its member is admitted: flotilla member admit berlin")
	})
}

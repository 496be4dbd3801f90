package upgrader

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

const (
	// progressEvery is the least time between two reports of progress.
	progressEvery = time.Second
	// putTimeout bounds the wait for the server to take a result or an inventory.
	putTimeout = 10 * time.Second
	// firstRetry and mostRetry bound the delay after one that could not be told.
	firstRetry = 500 * time.Millisecond
	mostRetry  = 30 * time.Second
	// maxMessage bounds the message of a result.
	maxMessage = 4 << 10
)

// reporter brings the newest result of each run to the hub.
type reporter struct {
	hub  *bus.AgentConn
	log  zerolog.Logger
	wake chan struct{}

	mu      sync.Mutex
	pending map[string]pendingResult // by run
	serial  uint64
}

// pendingResult is a result that the hub does not have yet.
type pendingResult struct {
	api.UpgradeResult
	serial uint64
}

var errHubAway = errors.New("the hub is away")

func newReporter(hub *bus.AgentConn, log zerolog.Logger) *reporter {
	return &reporter{hub: hub, log: log, wake: make(chan struct{}, 1), pending: map[string]pendingResult{}}
}

// tell makes r the result of its run.
func (r *reporter) tell(result api.UpgradeResult) {
	result.Message = clip(result.Message)
	r.mu.Lock()
	r.serial++
	r.pending[result.Run] = pendingResult{result, r.serial}
	r.mu.Unlock()
	wake(r.wake)
}

// run sends what is pending until ctx ends: ends of operations at once, progress once a second.
func (r *reporter) run(ctx context.Context) {
	again := time.NewTimer(0)
	defer again.Stop()
	retry := firstRetry
	var progressed time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-again.C:
		}
		wait, failed := time.Duration(0), false
		for _, run := range r.runs() {
			if left := progressEvery - r.hub.Now().Sub(progressed); left > 0 && r.of(run).Outcome == api.OutcomeRunning {
				wait = left
				continue
			}
			sent, err := r.send(ctx, run)
			if err != nil {
				failed = true
				continue
			}
			if sent.Outcome == api.OutcomeRunning {
				progressed = r.hub.Now()
			}
		}
		if failed {
			wait, retry = retry, min(2*retry, mostRetry)
		} else {
			retry = firstRetry
		}
		if wait > 0 {
			again.Reset(wait)
		}
	}
}

func (r *reporter) runs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.pending))
}

func (r *reporter) of(run string) pendingResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending[run]
}

func (r *reporter) send(ctx context.Context, run string) (api.UpgradeResult, error) {
	result := r.of(run)
	if !r.hub.Connected() {
		return result.UpgradeResult, errHubAway
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if err := r.hub.PutResult(ctx, subjects.CommandUpgrade, run, result.UpgradeResult); err != nil {
		if r.hub.Connected() && !ended(err) {
			r.log.Warn().Err(err).Str("operation", result.Operation).Msg("the result of an upgrade could not be told; trying again")
		}
		return result.UpgradeResult, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending[run].serial == result.serial {
		delete(r.pending, run)
	}
	return result.UpgradeResult, nil
}

// resultOf completes a result of an operation.
func resultOf(member string, op *api.UpgradeOperation, r api.UpgradeResult, now time.Time) api.UpgradeResult {
	r.Header = api.NewHeader(api.KindUpgradeResult)
	r.Member, r.Run, r.Operation = member, op.Run, op.ID
	r.At = metav1.NewTime(now.UTC().Truncate(time.Second))
	return r
}

func clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}

package upgrader

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/loop"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/subjects"
)

const (
	// progressEvery is the least time between two reports of progress.
	progressEvery = time.Second
	// putTimeout bounds the wait for the server to take an inventory.
	putTimeout = 10 * time.Second
	// firstRetry and mostRetry bound the delay after an inventory that could not be told.
	firstRetry = 500 * time.Millisecond
	mostRetry  = 30 * time.Second
	// maxMessage bounds the message of a result.
	maxMessage = 4 << 10
)

// reporter brings the newest result of each run to the hub.
type reporter struct {
	hub        *member.Conn
	log        zerolog.Logger
	queue      *loop.Queue // of the key operations
	progressed time.Time   // when progress was told last; of put

	mu      sync.Mutex
	pending map[string]api.UpgradeResult // by run
}

func newReporter(hub *member.Conn, log zerolog.Logger) *reporter {
	return &reporter{hub: hub, log: log, queue: loop.New(loop.Options{Now: hub.Now}), pending: map[string]api.UpgradeResult{}}
}

// tell makes r the result of its run.
func (r *reporter) tell(result api.UpgradeResult) {
	result.Message = clip(result.Message)
	r.mu.Lock()
	r.pending[result.Run] = result
	r.mu.Unlock()
	r.queue.Add(operations)
}

// put hands over what is pending: ends of operations at once, progress once a second.
func (r *reporter) put(context.Context, string) (again time.Time, err error) {
	now := r.hub.Now()
	due := r.progressed.Add(progressEvery)
	sent, waits := r.send(!now.Before(due))
	if sent {
		r.progressed = now
	}
	if waits {
		again = due
	}
	return again, nil
}

// send hands over the ends of operations, and progress where it is due; waits says that some is left.
func (r *reporter) send(due bool) (progress, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for run, result := range r.pending {
		running := result.Outcome == api.OutcomeRunning
		if running && !due {
			waits = true
			continue
		}
		delete(r.pending, run)
		progress = progress || running
		if err := r.hub.TellResult(subjects.CommandUpgrade, run, result); err != nil {
			r.log.Error().Err(err).Str("operation", result.Operation).Msg("the result of an upgrade cannot be told")
		}
	}
	return progress, waits
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

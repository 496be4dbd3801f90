package turns

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Turn is one request or watch of a person, with the room that it holds. It lasts until all work on it has ended: some goes on after
// whoever asked has gone.
type Turn struct {
	of     *Turns
	person string

	mu    sync.Mutex
	works int // 0 once it is over
	held  [countRooms]int64
}

// Stay has the turn last until it is left once more. It is false where the turn is over.
func (t *Turn) Stay() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.works == 0 {
		return false
	}
	t.works++
	return true
}

// Leave ends a part of the work on the turn, and the turn with the last.
func (t *Turn) Leave() {
	t.mu.Lock()
	t.works--
	over, held := t.works == 0, t.held
	t.mu.Unlock()
	if !over {
		return
	}
	for i, bytes := range held {
		if bytes > 0 {
			t.of.rooms[i].leave(t.person, bytes)
		}
	}
	t.of.left(t.person)
}

// Hold waits until there is room for so many bytes, and has it until the turn is over. What would hold more than one request may has as
// much as that. Where ctx ends before, the error is a refusal as the Kubernetes API gives it. Who calls it stays.
func (t *Turn) Hold(ctx context.Context, in Room, bytes int64) error {
	room := t.of.rooms[in]
	t.mu.Lock()
	bytes = min(bytes, room.once-t.held[in])
	t.mu.Unlock()
	if bytes <= 0 {
		return nil
	}
	if err := room.enter(ctx, t.person, bytes); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held[in] += bytes
	return nil
}

// Free gives back what the turn holds in a room.
func (t *Turn) Free(in Room) {
	t.mu.Lock()
	bytes := t.held[in]
	t.held[in] = 0
	t.mu.Unlock()
	if bytes > 0 {
		t.of.rooms[in].leave(t.person, bytes)
	}
}

// key is where a context has the turn of a request.
type key struct{}

// With is a context of a turn.
func With(ctx context.Context, t *Turn) context.Context { return context.WithValue(ctx, key{}, t) }

// within is for how long a request waits for room.
const within = 10 * time.Second

// Hold has the turn of a context hold so many bytes, as soon as there is room for them within ten seconds, or half of the time that the
// request has left. What has no turn is no request of anybody.
func Hold(ctx context.Context, in Room, bytes int64) error {
	t, is := ctx.Value(key{}).(*Turn)
	if !is {
		return nil
	}
	wait := within
	if until, has := ctx.Deadline(); has { // time is left to say that there was no room
		wait = min(wait, time.Until(until)/2) //nolint:forbidigo // contexts go by the clock of the machine
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return t.Hold(ctx, in, bytes)
}

// Try has the turn of a context hold so many bytes if there is room for them now.
func Try(ctx context.Context, in Room, bytes int64) bool {
	t, is := ctx.Value(key{}).(*Turn)
	if !is {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return t.Hold(ctx, in, bytes) == nil
}

// WithRoom is what somebody reads who says how much memory it takes, once there is room for that. Whoever waits for room keeps nothing of what was
// there, and reads again.
func WithRoom[T any](ctx context.Context, in Room, read func() (found T, takes int64, err error)) (T, error) {
	for room := int64(0); ; {
		found, takes, err := read()
		if err != nil || takes <= room || Try(ctx, in, takes-room) {
			return found, err
		}
		if err := Hold(ctx, in, takes-room); err != nil {
			var none T
			return none, err
		}
		room = takes
	}
}

// Free gives back what the turn of a context holds in a room.
func Free(ctx context.Context, in Room) {
	if t, is := ctx.Value(key{}).(*Turn); is {
		t.Free(in)
	}
}

// Stay has the turn of a context last until leave is called. The error says that it is over: whoever asked has gone.
func Stay(ctx context.Context) (leave func(), err error) {
	switch t, is := ctx.Value(key{}).(*Turn); {
	case !is:
		return func() {}, nil
	case t.Stay():
		return t.Leave, nil
	}
	return nil, apierrors.NewTimeoutError("the request has ended", RetryAfter)
}

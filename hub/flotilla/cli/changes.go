package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

const (
	// watchWait is for how long the hub is asked to wait for a change: what is shown may change with time alone.
	watchWait = 8 * time.Second
	// watchPace is how soon what was just looked at is looked at again.
	watchPace = time.Second
	// hurriedWait is watchWait of who looks at something that goes on.
	hurriedWait = 2 * time.Second
	// watchAlone is how often is looked where the hub keeps nobody waiting any more.
	watchAlone = 5 * time.Second
)

// changes are those of what a command watches: the hub says when to look again.
type changes struct {
	client  *Client
	request api.WatchRequest
	pace    time.Duration
	looked  time.Time
}

// changesOf begins to watch kinds of objects: what changes after it returned is told. It comes before the first look.
func (a *Client) changesOf(ctx context.Context, kinds ...api.WatchedKind) (*changes, error) {
	return a.watching(ctx, api.WatchRequest{Kinds: kinds})
}

// watchedKinds are those of what arguments name.
func (a *Client) watchedKinds(t *target, s selection) []api.WatchedKind {
	var watched []api.WatchedKind
	add := func(k *resourceKind) {
		if w := (api.WatchedKind{APIVersion: k.apiVersion, Kind: k.kind}); !slices.Contains(watched, w) {
			watched = append(watched, w)
		}
	}
	for i := range t.refs {
		add(&t.refs[i].resourceKind)
	}
	for _, k := range t.withPlacements(a.namespace, s) {
		add(&k)
	}
	return watched
}

func (a *Client) watching(ctx context.Context, request api.WatchRequest) (*changes, error) {
	request.Wait = metav1.Duration{Duration: min(watchWait, a.connection.Timeout/2)}
	c := &changes{client: a, request: request, pace: watchPace}
	return c, c.ask(ctx)
}

func (c *changes) ask(ctx context.Context) error {
	var answer api.WatchResponse
	err := c.client.ask(ctx, api.VerbWatch, &c.request, &answer)
	if err == nil {
		c.request.After, c.looked = answer.Mark, c.client.Now()
	}
	return err
}

// hurry looks again sooner.
func (c *changes) hurry() {
	c.pace = pollInterval
	c.request.Wait.Duration = min(c.request.Wait.Duration, hurriedWait)
}

// nextWhile is next, with something done now and then meanwhile.
func (c *changes) nextWhile(ctx context.Context, tick func()) (more bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		more, err = c.next(ctx)
	}()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return more, err
		case <-ticker.C:
			tick()
		}
	}
}

// next returns when there may be something new, and false once the command was interrupted or timed out.
func (c *changes) next(ctx context.Context) (bool, error) {
	if rest := c.pace - c.client.Now().Sub(c.looked); rest > 0 && !pause(ctx, min(rest, c.pace)) {
		return false, nil
	}
	err := c.ask(ctx)
	if failure := (*api.Failure)(nil); errors.As(err, &failure) && failure.Code == api.CodeLimit {
		c.client.noteOnce(failure.Message + "; looking every 5 s instead")
		return pause(ctx, watchAlone), nil
	}
	if ctx.Err() != nil {
		return false, nil
	}
	return err == nil, err
}

// Package keeper keeps the credentials of an agent: it trades the token for them, asks for those of a member of the
// fleet until the member is admitted, renews them when half of their time has passed, and asks for new ones with the
// registered key when they ended. agent/agentd runs one beside the other rooms, which work whenever there are
// credentials for work.
package keeper

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/bus/member"
	"flotilla/core/api"
)

const (
	// firstPause and lastPause bound the time between two tries while nobody answers.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// refusedPause is the time between two tries after a refusal that only a person can change.
	refusedPause = time.Minute
	// lookEvery is how often it is looked at least whether credentials are to be renewed: a machine may have slept.
	lookEvery = time.Hour
)

// Hub is the side of the connection that the keeper needs; member.Conn of the bus.
type Hub interface {
	EnrolIn() (after time.Duration, ok bool)
	Enrol(context.Context) (member.Given, error)
	OnConnect(func()) (cancel func())
	Up() error
	Role() string
}

// Options of a Keeper.
type Options struct {
	Member string
	Hub    Hub
	Log    zerolog.Logger
}

// Keeper keeps the credentials of one agent.
type Keeper struct {
	o     Options
	pause time.Duration
	// said is what was said last to a person.
	said string
	// failing is why there were no credentials the last time, nil when there were.
	failing atomic.Pointer[string]
}

// Failing says why the agent gets no credentials; empty while it does, or needs none.
func (k *Keeper) Failing() string {
	if why := k.failing.Load(); why != nil {
		return *why
	}
	return ""
}

// New returns a keeper that does nothing before Run.
func New(o Options) *Keeper { return &Keeper{o: o, pause: firstPause} }

// Run keeps the credentials until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	defer k.o.Hub.OnConnect(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})()
	for {
		timer := time.NewTimer(k.once(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		case <-wake:
			timer.Stop()
		}
	}
}

// once asks for credentials if there is a need to, and says when to look again.
func (k *Keeper) once(ctx context.Context) time.Duration {
	after, ok := k.o.Hub.EnrolIn()
	switch {
	case !ok, k.o.Hub.Up() != nil:
		return lookEvery
	case after > 0:
		return min(lookEvery, after+rand.N(1+after/20)) // agents that enrolled together need not renew together
	}
	given, err := k.o.Hub.Enrol(ctx)
	if err == nil {
		k.pause = firstPause
		k.tell(given)
		return lookEvery // it connects anew, which wakes
	}
	if ctx.Err() != nil {
		return 0
	}
	return k.failed(err)
}

func (k *Keeper) tell(given member.Given) {
	k.said = ""
	k.failing.Store(nil)
	line := k.o.Log.Info()
	if !given.Ends.IsZero() {
		line = line.Time("until", given.Ends.UTC())
	}
	if given.Role == api.AgentJoining {
		line.Msgf("the agent of %s is enrolled, with key %s; it is heard, and works once its member is admitted: flotilla member admit %s", k.o.Member, given.Key, k.o.Member)
		return
	}
	line.Msgf("the agent of %s has credentials", k.o.Member)
}

// failed says why there are no credentials, once, and when to try again.
func (k *Keeper) failed(err error) time.Duration {
	why := err.Error()
	if bus.IsDisconnected(err) {
		why = "no hub answers what it asks"
	}
	k.failing.Store(&why)
	refusal, refused := errors.AsType[*api.EnrolmentRefusal](err)
	switch {
	case refused && !refusal.Later:
		k.say(zerolog.ErrorLevel, "the hub gives the agent no credentials: "+refusal.Error())
		return refusedPause
	case refused:
		k.say(zerolog.WarnLevel, "the hub gives the agent no credentials now: "+refusal.Error())
	case k.o.Hub.Role() == api.AgentJoining && errors.Is(err, context.DeadlineExceeded):
		return firstPause
	default:
		k.say(zerolog.DebugLevel, err.Error())
	}
	wait := k.pause/2 + rand.N(k.pause/2)
	k.pause = min(2*k.pause, lastPause)
	return wait
}

func (k *Keeper) say(level zerolog.Level, text string) {
	if k.said != text {
		k.said = text
		k.o.Log.WithLevel(level).Msg(text)
	}
}

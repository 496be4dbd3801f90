package agentd

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/member"
)

const (
	// adviseAfter is how long a first connection may take before a person is told what may be wrong.
	adviseAfter = 5 * time.Second
	// adviseAgain is how often that is repeated.
	adviseAgain = 5 * time.Minute
)

// aside is how what a person at a terminal wants to know is said: not at all where many agents share
// the process of a hub.
func (a *Agent) aside() zerolog.Level {
	if a.o.Aside {
		return zerolog.DebugLevel
	}
	return zerolog.InfoLevel
}

// greet says what starts, and where a person finds its things.
func (a *Agent) greet(conn *member.Conn) {
	line := a.o.Log.WithLevel(a.aside()).Str("data", a.o.Config.DataDir).Str("url", conn.URL())
	if known, able := a.target.(fmt.Stringer); able {
		line = line.Stringer("target", known)
	}
	line.Msgf("the agent of %s starts; it works with what is on disk until the hub answers", a.Member())
	conn.OnConnect(sync.OnceFunc(func() { a.o.Log.WithLevel(a.aside()).Msgf("the agent of %s is connected", a.Member()) }))
}

// blank says what a member that nothing was ever placed on may be waiting for.
func (a *Agent) blank() {
	a.o.Log.WithLevel(a.aside()).Msgf("nothing is placed here yet; while `flotilla get members` shows %s as Joining, admit it: flotilla member admit %s",
		a.Member(), a.Member())
}

// advise tells a person, while there never was a connection, what to look at.
func (a *Agent) advise(conn *member.Conn) func(context.Context) error {
	return func(ctx context.Context) error {
		connected := make(chan struct{}, 1)
		defer conn.OnConnect(func() {
			select {
			case connected <- struct{}{}:
			default:
			}
		})()
		for wait := adviseAfter; ; wait = adviseAgain {
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
				timer.Stop()
				return nil
			case <-connected:
				timer.Stop()
				return nil
			case <-timer.C:
			}
			a.o.Log.Warn().Msgf("no connection to %s yet: is the hub running there, and was the agent enrolled with it? "+
				"If it refuses the credentials, enrol anew, with --token @%s.token: flotilla member enrol %s > %s.token",
				conn.URL(), a.Member(), a.Member(), a.Member())
		}
	}
}

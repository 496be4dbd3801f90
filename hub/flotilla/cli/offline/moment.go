package offline

import (
	"time"

	"flotilla/hub/flotilla/cli/session"

	"github.com/spf13/pflag"
)

// Moment is what plan and why share: the time they look at, and whether they ask a hub.
type Moment struct {
	Now     string
	Offline bool
}

// AddFlags adds --now and --offline.
func (m *Moment) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.Now, "now", "", "time to plan for, RFC 3339 (default: now; offline, the newest heartbeat in the files)")
	flags.BoolVar(&m.Offline, "offline", false, "answer from the files alone; so it is whenever no hub is configured")
}

// Time is the time of --now, zero without one.
func (m *Moment) Time() (time.Time, error) {
	if m.Now == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, m.Now)
	if err != nil {
		return t, session.Usagef("--now: found %q, expected a time such as 2026-03-01T12:00:00Z", m.Now)
	}
	return t, nil
}

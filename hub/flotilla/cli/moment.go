package cli

import (
	"time"

	"github.com/spf13/pflag"
)

// moment is what plan and why share: the time they look at, and whether they ask a hub.
type moment struct {
	now     string
	offline bool
}

func (m *moment) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.now, "now", "", "time to plan for, RFC 3339 (default: now; offline, the newest heartbeat in the files)")
	flags.BoolVar(&m.offline, "offline", false, "answer from the files alone; so it is whenever no hub is configured")
}

func (m *moment) time() (time.Time, error) {
	if m.now == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, m.now)
	if err != nil {
		return t, usagef("--now: found %q, expected a time such as 2026-03-01T12:00:00Z", m.now)
	}
	return t, nil
}

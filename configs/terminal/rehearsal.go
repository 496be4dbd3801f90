package terminal

import (
	"fmt"
	"os"
	"time"
)

// Variables for rehearsals of faults, in which nobody wants to wait as long as in production; docs/operations.md
// says when they are of use. They hold durations.
const (
	// Lease is for how long a hub that does not renew its lease keeps it. All hubs of a fleet need the same.
	Lease = "FLOTILLA_LEASE"
	// Reconnect is how long an agent that lost its connection waits before it tries again.
	Reconnect = "FLOTILLA_RECONNECT"
)

// leastLease is the shortest time to live that NATS takes.
const leastLease = time.Second

// Rehearsal is what a variable says, 0 when it says nothing.
func Rehearsal(variable string) (time.Duration, error) {
	given := os.Getenv(variable)
	if given == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(given)
	if err != nil || d <= 0 || variable == Lease && d < leastLease {
		return 0, fmt.Errorf("%s: found %q, expected a duration such as 3s", variable, given)
	}
	return d, nil
}

// Package elsewhen is the clock of tests: every test that reads one reads this. It is the machine's unless
// FLOTILLA_ELSEWHEN names another moment, at which the tests of the process begin; it then goes on as fast
// as the machine's. `make test-elsewhen` runs the tests at moments that have broken programs before.
//
// What it cannot reach goes by the machine's clock all the same: NATS, files, and timers, whose delays are
// the same at any moment.
package elsewhen

import (
	"fmt"
	"os"
	"strings"
	"time"

	_ "time/tzdata" // zones, wherever the tests run
)

// Variable names the moment: "2028-02-29T23:59:30Z", or how far from now it is in days: "-400d". A zone
// may follow, in which the machine then is: "2027-03-28T00:59:00Z@Europe/Berlin".
const Variable = "FLOTILLA_ELSEWHEN"

// clockAhead is the variable by which mains take a clock, terminal.ClockAhead: programs of ours that a test
// starts inherit it, so that they go by the clock of the test that started them.
const clockAhead = "FLOTILLA_CLOCK_AHEAD"

var offset time.Duration

func init() {
	moment, zone, _ := strings.Cut(os.Getenv(Variable), "@")
	var err error
	if inherited := os.Getenv(clockAhead); inherited != "" {
		offset, err = time.ParseDuration(inherited)
	} else {
		offset, err = offsetOf(moment, time.Now())
	}
	if err != nil {
		panic(fmt.Sprintf("%s: %v", Variable, err))
	}
	if zone != "" {
		if time.Local, err = time.LoadLocation(zone); err != nil {
			panic(fmt.Sprintf("%s: %v", Variable, err))
		}
		_ = os.Setenv("TZ", zone)
	}
	if offset != 0 {
		_ = os.Setenv(clockAhead, offset.String())
	}
}

// offsetOf is how far a moment is ahead of now; the empty one is now.
func offsetOf(moment string, now time.Time) (time.Duration, error) {
	if moment == "" {
		return 0, nil
	}
	var days int
	if n, err := fmt.Sscanf(moment, "%dd", &days); n == 1 && err == nil {
		return time.Duration(days) * 24 * time.Hour, nil
	}
	at, err := time.Parse(time.RFC3339, moment)
	if err != nil {
		return 0, fmt.Errorf("found %q, expected a time such as 2028-02-29T23:59:30Z, or days such as -400d", moment)
	}
	return at.Sub(now).Round(time.Second), nil
}

// Now is what the tests' clock shows.
func Now() time.Time { return time.Now().Add(offset) }

// Since is how long ago a time of the tests' clock is.
func Since(t time.Time) time.Duration { return Now().Sub(t) }

// Until is how far away a time of the tests' clock is.
func Until(t time.Time) time.Duration { return t.Sub(Now()) }

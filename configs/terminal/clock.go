package terminal

import (
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"
)

// ClockAhead is the variable that says how far the clock of a process is ahead of the machine's, as a
// duration such as "48h"; a negative one is behind. It is for rehearsals: a fleet of --dev then shows what a
// window of the day after tomorrow will do.
const ClockAhead = "FLOTILLA_CLOCK_AHEAD"

// Clock is the clock of this process, by its environment. Mains read it once and give it to all they start.
func Clock() (now func() time.Time, err error) {
	given := os.Getenv(ClockAhead)
	if given == "" {
		return time.Now, nil
	}
	ahead, err := time.ParseDuration(given)
	if err != nil {
		return nil, fmt.Errorf("%s: found %q, expected a duration such as 48h or -30m", ClockAhead, given)
	}
	return func() time.Time { return time.Now().Add(ahead) }, nil
}

// TellClock says in the log that the process does not go by the machine's clock, if so.
func TellClock(log zerolog.Logger) {
	if ahead := os.Getenv(ClockAhead); ahead != "" {
		log.Warn().Str("ahead", ahead).Msgf("%s is set: this process goes by another clock than the machine's, for rehearsals only", ClockAhead)
	}
}

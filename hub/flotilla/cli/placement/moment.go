package placement

import (
	"strconv"
	"strings"
	"time"

	"flotilla/hub/flotilla/cli/session"
)

// momentWords is what a flag that takes a time says of it.
const momentWords = "2026-03-01T12:00:00Z, 2026-03-01, 2026-03-01 12:00, 12:00, -2h, -3d or yesterday; without a zone it is the terminal's"

// Moment reads a time that was, as people write it: in the zone of now where they name none. Flag is who asks.
func Moment(flag, text string, now time.Time) (time.Time, error) {
	at, ok := moment(strings.TrimSpace(text), now)
	switch {
	case !ok:
		return at, session.Usagef("%s: found %q, expected a time such as %s", flag, text, momentWords)
	case at.After(now):
		return at, session.Usagef("%s: found %q, which is not yet: it is %s", flag, text, now.Format(time.RFC3339))
	}
	return at, nil
}

func moment(text string, now time.Time) (time.Time, bool) {
	switch text {
	case "now":
		return now, true
	case "today":
		return midnight(now), true
	case "yesterday":
		return now.AddDate(0, 0, -1), true
	}
	if days, is := strings.CutSuffix(text, "d"); is && strings.HasPrefix(days, "-") {
		n, err := strconv.Atoi(days)
		return now.AddDate(0, 0, n), err == nil && n < 0 && n > -100_000
	}
	if strings.HasPrefix(text, "-") {
		d, err := time.ParseDuration(text)
		return now.Add(d), err == nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, true
		}
	}
	at, err := time.ParseInLocation("15:04", text, now.Location())
	return midnight(now).Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute), err == nil
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

package picture

import "time"

// Place is a place on an axis of time, in pixels, with what stands there.
type Place struct {
	X    int
	Text string
}

// tickSteps are lengths that people count in.
var tickSteps = []time.Duration{
	time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour,
	12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 30 * day, 90 * day, 365 * day,
}

const day = 24 * time.Hour

// ticksOn are at most so many places between two times, evenly apart on the clock of UTC: "15:04", and "Mon 2 Jan" where a day
// begins.
func ticksOn(from, to time.Time, most int) (ticks []Place) {
	var step time.Duration
	for _, step = range tickSteps {
		if to.Sub(from) <= step*time.Duration(most) {
			break
		}
	}
	for at := from.UTC().Truncate(step); !at.After(to) && len(ticks) <= most; at = at.Add(step) {
		if at.Before(from) {
			continue
		}
		text := at.Format("15:04")
		if at.Equal(at.Truncate(day)) {
			text = at.Format("Mon 2 Jan")
		}
		ticks = append(ticks, Place{placeOn(from, to, at), text})
	}
	return ticks
}

// placeOn is where a time is on an axis between two others.
func placeOn(from, to, at time.Time) int {
	share := float64(at.Sub(from)) / float64(to.Sub(from))
	return left + int(max(0, min(1, share))*(right-left)+.5)
}

// shortened is a name that has room beside an axis.
func shortened(name string) string {
	if letters := []rune(name); len(letters) > longestName {
		return string(letters[:longestName-1]) + "…"
	}
	return name
}

package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robfig/cron/v3"
)

// maxCron bounds a schedule: each of its five fields fits many times over.
const maxCron = 256

var (
	errCronLength = fmt.Errorf("more than %d characters", maxCron)
	errCronZone   = errors.New("a zone stands before the fields")
	errCronMacro  = errors.New("no such macro")
)

// ParseCron reads a schedule of five cron fields, or a macro like @daily, in UTC. It is the only caller of the
// cron library's parser, which panics on a zone without fields and looks for zones in files.
func ParseCron(text string) (*cron.SpecSchedule, error) {
	fields := strings.TrimSpace(text)
	switch {
	case len(fields) > maxCron:
		return nil, errCronLength
	case strings.HasPrefix(fields, "TZ=") || strings.HasPrefix(fields, "CRON_TZ="):
		return nil, errCronZone
	case strings.HasPrefix(fields, "@") && !slices.Contains(cronMacros, fields):
		return nil, errCronMacro
	}
	parsed, err := cron.ParseStandard("TZ=UTC " + fields)
	if err != nil {
		return nil, err
	}
	schedule, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errCronMacro
	}
	return schedule, nil
}

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

// What is wrong with a schedule.
var (
	ErrCronLength = fmt.Errorf("more than %d characters", maxCron)
	ErrCronZone   = errors.New("a zone stands before the fields")
	ErrCronMacro  = errors.New("no such macro")
)

// ParseCron reads a schedule of five cron fields, or a macro like @daily without space around it, in UTC.
func ParseCron(text string) (*cron.SpecSchedule, error) {
	if macro := strings.TrimSpace(text); macro != text && strings.HasPrefix(macro, "@") {
		return nil, ErrCronMacro
	}
	schedule, err := ParseSchedule(text)
	if err != nil {
		return nil, err
	}
	fields, ok := schedule.(*cron.SpecSchedule)
	if !ok {
		return nil, ErrCronMacro
	}
	return fields, nil
}

// ParseSchedule reads what ParseCron does, whatever space is around it, and "@every DURATION", which NodePools may not say (N18). It is the
// only caller of the cron library's parser, which panics on a zone without fields and looks for zones in files.
func ParseSchedule(text string) (cron.Schedule, error) {
	fields := strings.TrimSpace(text)
	switch {
	case len(fields) > maxCron:
		return nil, ErrCronLength
	case strings.HasPrefix(fields, "TZ=") || strings.HasPrefix(fields, "CRON_TZ="):
		return nil, ErrCronZone
	case strings.HasPrefix(fields, "@") && !strings.HasPrefix(fields, "@every ") && !slices.Contains(CronMacros, fields):
		return nil, ErrCronMacro
	}
	return cron.ParseStandard("TZ=UTC " + fields)
}

// CronMacros are the names of schedules that stand for five fields.
var CronMacros = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

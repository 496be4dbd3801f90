package disruption

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"flotilla/core/api"
)

// Unbounded is the limit of a pool whose budgets say nothing now.
const Unbounded = math.MaxInt32

// Zones finds a zone by its IANA name, as time.LoadLocation does; nil knows UTC alone.
type Zones func(name string) (*time.Location, error)

// Budgets are the parsed budgets of one pool. The zero value has no limit.
type Budgets struct {
	list []budget
	// invalid is the first fault; nothing at all is allowed while it stands (section 3.2).
	invalid error
}

type budget struct {
	nodes    int
	percent  bool
	always   bool
	schedule cron.Schedule
	// never is a schedule that has no date at all (N4).
	never    bool
	duration time.Duration
	reasons  []string
	all      bool
	err      error
}

// ParseBudgets reads the budgets of a pool. Faults do not stop it: they make the pool allow nothing,
// see Err.
func ParseBudgets(specs []api.DisruptionBudget, zones Zones) Budgets {
	var b Budgets
	for i := range specs {
		parsed := parseBudget(&specs[i], zones)
		if parsed.err != nil && b.invalid == nil {
			b.invalid = fmt.Errorf("budgets[%d]: %w", i, parsed.err)
		}
		b.list = append(b.list, parsed)
	}
	return b
}

// Err returns what makes the budgets invalid, or nil.
func (b Budgets) Err() error { return b.invalid }

var errNodes = errors.New("nodes is neither a number nor a percentage")

func parseBudget(s *api.DisruptionBudget, zones Zones) budget {
	b := budget{reasons: s.Reasons, all: s.Reasons == nil, always: s.Schedule == nil && s.Duration == nil}
	b.nodes, b.percent, b.err = parseNodes(s.Limit())
	if b.always {
		return b
	}
	schedule, err := parseSchedule(s.Schedule, s.TimeZone, zones)
	if err != nil {
		b.err, b.schedule = err, nil
		return b
	}
	b.schedule = schedule
	if s.Duration != nil {
		if b.duration, err = time.ParseDuration(*s.Duration); err != nil {
			b.err = fmt.Errorf("duration: %w", err)
		}
	}
	b.never = schedule.Next(time.Unix(0, 0).UTC()).IsZero()
	return b
}

func parseNodes(text string) (n int, percent bool, err error) {
	digits, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return 0, percent, fmt.Errorf("%w: %q", errNodes, text)
	}
	return int(value), percent, nil
}

func parseSchedule(text *string, zone string, zones Zones) (cron.Schedule, error) {
	line := ""
	if text != nil {
		line = *text
	}
	schedule, err := cron.ParseStandard("TZ=UTC " + line)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", line, err)
	}
	fields, zoned := schedule.(*cron.SpecSchedule)
	if zone == "" || !zoned {
		return schedule, nil
	}
	if zones == nil {
		return nil, fmt.Errorf("timeZone %q: no zones are known here", zone)
	}
	if fields.Location, err = zones(zone); err != nil {
		return nil, fmt.Errorf("timeZone %q: %w", zone, err)
	}
	return fields, nil
}

// active reports whether the budget counts at now: within [hit, hit+duration) of some hit.
func (b *budget) active(now time.Time, rules Rules) bool {
	switch {
	case b.always:
		return true
	case b.schedule == nil:
		return false
	case b.never:
		return rules.Off.NeverMatching
	default:
		return !b.schedule.Next(now.Add(-b.duration)).After(now)
	}
}

// limit is how many nodes of total may be down for this budget alone.
func (b *budget) limit(total int) int {
	if !b.percent {
		return b.nodes
	}
	return int(math.Ceil(float64(total) * float64(b.nodes) / 100))
}

func (b *budget) covers(reason string) bool { return b.all || slices.Contains(b.reasons, reason) }

// BudgetState is one budget at one moment.
type BudgetState struct {
	// Active says that it counts now; Invalid that it cannot be evaluated.
	Active  bool
	Invalid bool
	// Limit is how many nodes may be down, Unbounded when it is not active.
	Limit int
}

// Each evaluates every budget of the list on its own.
func (b Budgets) Each(now time.Time, total int, rules Rules) []BudgetState {
	out := make([]BudgetState, len(b.list))
	for i := range b.list {
		one := &b.list[i]
		s := BudgetState{Invalid: one.err != nil, Limit: Unbounded}
		if s.Active = one.active(now, rules); s.Active {
			s.Limit = one.limit(total)
		}
		if s.Invalid {
			s.Limit = 0
		}
		out[i] = s
	}
	return out
}

// Limit is how many of total nodes may be down at once for a reason: the smallest of the active
// budgets that cover it, Unbounded when there is none, 0 when any budget is invalid (section 3.2).
func (b Budgets) Limit(now time.Time, total int, reason string, rules Rules) int {
	if b.invalid != nil {
		return 0
	}
	limit := Unbounded
	for i := range b.list {
		if one := &b.list[i]; one.covers(reason) && one.active(now, rules) {
			limit = min(limit, one.limit(total))
		}
	}
	return limit
}

// Allowed is what is left of a limit when some nodes are down already: never below 0.
func Allowed(limit, disrupting int) int { return max(0, limit-disrupting) }

// changes returns the moments in (from, to] at which some budget begins or ceases to count, sorted.
func (b Budgets) changes(from, to time.Time) []time.Time {
	var out []time.Time
	for i := range b.list {
		one := &b.list[i]
		if one.schedule == nil || one.never || one.duration <= 0 {
			continue
		}
		for hit := one.schedule.Next(from.Add(-one.duration)); !hit.IsZero() && !hit.After(to) && len(out) < maxChanges; hit = one.schedule.Next(hit) {
			for _, at := range []time.Time{hit, hit.Add(one.duration)} {
				if at.After(from) && !at.After(to) {
					out = append(out, at.UTC())
				}
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// maxChanges bounds how many moments a calendar looks at.
const maxChanges = 5000

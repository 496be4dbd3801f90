package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"flotilla/core/api"
)

// Zones finds a zone by its IANA name, as time.LoadLocation does; nil knows UTC alone.
type Zones func(name string) (*time.Location, error)

// Budgets are the parsed budgets of one pool. The zero value has no limit.
type Budgets struct {
	List []budget
	// invalid is the first fault; nothing at all is allowed while it stands.
	invalid error
}

type budget struct {
	nodes   int
	percent bool
	always  bool
	hits    *hits // nil when it always counts, or cannot be evaluated
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
		b.List = append(b.List, parsed)
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
	var err error
	if b.hits, err = parseHits(s.Schedule, s.TimeZone, zones); err != nil {
		b.err = err
		return b
	}
	if s.Duration != nil {
		if b.duration, err = time.ParseDuration(*s.Duration); err != nil {
			b.err = fmt.Errorf("duration: %w", err)
		}
	}
	b.never = b.hits.next(time.Unix(0, 0).UTC()).IsZero()
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

// active reports whether the budget counts at now: within [hit, hit+duration) of some hit.
func (b *budget) active(now time.Time, rules Rules) bool {
	switch {
	case b.always:
		return true
	case b.hits == nil:
		return false
	case b.never:
		return rules.Off.NeverMatching
	default:
		return !b.hits.next(now.Add(-b.duration)).After(now)
	}
}

// Limit is how many nodes of total may be down for this budget alone.
func (b *budget) Limit(total int) Count {
	if !b.percent {
		return Count(b.nodes)
	}
	return Count(math.Ceil(float64(total) * float64(b.nodes) / 100))
}

func (b *budget) covers(reason string) bool { return b.all || slices.Contains(b.reasons, reason) }

// BudgetState is one budget at one moment.
type BudgetState struct {
	// Active says that it counts now; Invalid that it cannot be evaluated.
	Active  bool `json:"active"`
	Invalid bool `json:"invalid,omitempty"`
	// Limit is how many nodes may be down, Unbounded when it is not active.
	Limit Count `json:"limit"`
}

// Each evaluates every budget of the list on its own.
func (b Budgets) Each(now time.Time, total int, rules Rules) []BudgetState {
	out := make([]BudgetState, len(b.List))
	for i := range b.List {
		one := &b.List[i]
		s := BudgetState{Invalid: one.err != nil, Limit: Unbounded}
		if s.Active = one.active(now, rules); s.Active {
			s.Limit = one.Limit(total)
		}
		if s.Invalid {
			s.Limit = 0
		}
		out[i] = s
	}
	return out
}

// Limit is how many of total nodes may be down at once for a reason: the smallest of the active
// budgets that cover it, Unbounded when there is none, 0 when any budget is invalid.
func (b Budgets) Limit(now time.Time, total int, reason string, rules Rules) Count {
	if b.invalid != nil {
		return 0
	}
	limit := Unbounded
	for i := range b.List {
		if one := &b.List[i]; one.covers(reason) && one.active(now, rules) {
			limit = min(limit, one.Limit(total))
		}
	}
	return limit
}

package stage

import (
	"fmt"
	"strconv"
	"strings"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// concurrency resolves a maxConcurrency over a number of members: percentages round down, at least 1.
func concurrency(text strict.CountOrPercent, members, otherwise int) int {
	if text == "" {
		return otherwise
	}
	number, percent := amount(text)
	if percent {
		return max(1, number*members/100)
	}
	return number
}

// allowedFailures resolves a maxAllowedFailures over a number of members: percentages round up.
func allowedFailures(text strict.CountOrPercent, members int) int {
	number, percent := amount(text)
	if percent {
		return (number*members + 99) / 100
	}
	return number
}

// amount reads a count or percentage that was validated; an empty text is 0.
func amount(text strict.CountOrPercent) (number int, percent bool) {
	digits, percent := strings.CutSuffix(string(text), "%")
	number, err := strconv.Atoi(digits)
	if err != nil {
		return 0, false
	}
	return number, percent
}

// resolveNumbers fills the limits of a stage and its groups over the frozen membership, and returns
// what was clamped.
func resolveNumbers(s *api.UpdateStage, status *api.StageStatus, atOnce int) []string {
	total := 0
	for i := range status.Groups {
		total += len(status.Groups[i].Members)
	}
	var clamped []string
	wanted := concurrency(s.MaxConcurrency, total, atOnce)
	status.MaxConcurrency = min(wanted, atOnce)
	if wanted > atOnce {
		clamped = append(clamped, fmt.Sprintf("stage %s: maxConcurrency %s is clamped to %d, the ceiling of a stage", s.Name, s.MaxConcurrency, atOnce))
	}
	groups := GroupsOf(s)
	for i := range groups {
		group, size := &status.Groups[i], len(status.Groups[i].Members)
		wanted := concurrency(groups[i].MaxConcurrency, size, 1)
		group.MaxConcurrency = min(wanted, status.MaxConcurrency, max(size, 1))
		if wanted > group.MaxConcurrency && len(s.Groups) > 0 && size > 0 {
			clamped = append(clamped, fmt.Sprintf("group %s: maxConcurrency %s is clamped to %d, the stage allows %d and the group has %d members",
				group.Name, groups[i].MaxConcurrency, group.MaxConcurrency, status.MaxConcurrency, size))
		}
	}
	resolveFailures(s, groups, status, total)
	return clamped
}

// resolveFailures inherits thresholds in both directions: an unset stage takes the sum of its groups'
// set values, an unset group the value of a set stage; an explicit 0 stays 0.
func resolveFailures(s *api.UpdateStage, groups []api.UpdateGroup, status *api.StageStatus, total int) {
	sum := 0
	for i := range groups {
		group := &status.Groups[i]
		switch {
		case groups[i].MaxAllowedFailures != "":
			group.MaxAllowedFailures = allowedFailures(groups[i].MaxAllowedFailures, len(group.Members))
			sum += group.MaxAllowedFailures
		case s.MaxAllowedFailures != "":
			group.MaxAllowedFailures = allowedFailures(s.MaxAllowedFailures, total)
		}
	}
	status.MaxAllowedFailures = sum
	if s.MaxAllowedFailures != "" {
		status.MaxAllowedFailures = allowedFailures(s.MaxAllowedFailures, total)
	}
}

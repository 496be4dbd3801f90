// Package budgets finds budgets of node pools that are valid and cannot mean what was wanted.
package budgets

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// Lint warns of budgets that are valid and cannot mean what was wanted (N3): a schedule that
// never comes, a list that blocks for ever, at once or by windows that leave no gap, and a budget that
// counts for no reason. Each warning shows the corrected form, when there is one.
func Lint(p *api.NodePool) []string {
	if p.Spec.Disruption == nil {
		return nil
	}
	var warnings []string
	budgets := p.Spec.Disruption.Budgets
	for i := range budgets {
		b := &budgets[i]
		at := fmt.Sprintf("BudgetLint: spec.disruption.budgets[%d]", i)
		if neverComes(b) {
			warnings = append(warnings, fmt.Sprintf("%s: schedule %q names a date that never comes, so this budget never counts", at, *b.Schedule))
		}
		if b.Reasons != nil && len(b.Reasons) == 0 {
			warnings = append(warnings, at+": reasons is an empty list, so this budget counts for nothing; leave reasons out to make it count for all")
		}
	}
	warnings = append(warnings, lintCovered(budgets)...)
	return append(warnings, lintBlocked(budgets)...)
}

func neverComes(b *api.DisruptionBudget) bool {
	if b.Schedule == nil || b.Duration == nil {
		return false
	}
	s, err := api.ParseCron(*b.Schedule)
	return err == nil && s.Next(time.Unix(0, 0).UTC()).IsZero()
}

// isZero reports a budget that allows nothing whenever it counts.
func isZero(b *api.DisruptionBudget) bool {
	return strings.Trim(strings.TrimSuffix(b.Limit(), "%"), "0") == ""
}

// lintBlocked warns of an always-on zero, which makes every other budget of its reasons idle.
func lintBlocked(budgets []api.DisruptionBudget) []string {
	zero := slices.IndexFunc(budgets, func(b api.DisruptionBudget) bool {
		return isZero(&b) && b.Schedule == nil && b.Duration == nil && (b.Reasons == nil || len(b.Reasons) > 0)
	})
	if zero < 0 {
		return nil
	}
	blocked := "every disruption"
	if r := budgets[zero].Reasons; r != nil {
		blocked = "every disruption for " + strings.Join(r, ", ")
	}
	warning := fmt.Sprintf("BudgetLint: spec.disruption.budgets[%d]: nodes %q without a schedule blocks %s, always: the smallest of the active budgets wins",
		zero, budgets[zero].Limit(), blocked)
	window := slices.IndexFunc(budgets, func(b api.DisruptionBudget) bool { return b.Schedule != nil && b.Duration != nil && !isZero(&b) })
	if window < 0 {
		return []string{warning}
	}
	corrected := invertedWindow(&budgets[window])
	if corrected == nil {
		return []string{warning + fmt.Sprintf("; to allow disruptions only in the window of budgets[%d], write the other way round: nodes %q always, and %q for the times outside the window",
			window, budgets[window].Limit(), "0")}
	}
	return []string{warning + "; to allow disruptions only in the window, write:\n" + budgetsYAML(corrected)}
}

// invertedWindow turns "allow n within one weekly or daily window" into an always-on n and zeros for
// the rest of the week; nil when the window has another shape.
func invertedWindow(b *api.DisruptionBudget) []api.DisruptionBudget {
	schedule, err := api.ParseCron(*b.Schedule)
	length, err2 := time.ParseDuration(*b.Duration)
	if err != nil || err2 != nil || length <= 0 {
		return nil
	}
	first := schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	second := schedule.Next(first)
	period := second.Sub(first)
	if schedule.Next(second).Sub(second) != period || period != 24*time.Hour && period != 7*24*time.Hour || length >= period {
		return nil
	}
	start := first.Add(length)
	day := "*"
	if period > 24*time.Hour {
		day = fmt.Sprint(int(start.Weekday()))
	}
	rest := period - length
	line := fmt.Sprintf("%d %d * * %s", start.Minute(), start.Hour(), day)
	duration := fmt.Sprintf("%dh", int(rest.Hours()))
	if m := int(rest.Minutes()) % 60; m != 0 {
		duration += fmt.Sprintf("%dm", m)
	}
	return []api.DisruptionBudget{
		{Nodes: new(b.Limit()), Reasons: b.Reasons},
		{Nodes: new("0"), Schedule: &line, Duration: &duration, Reasons: b.Reasons, TimeZone: b.TimeZone},
	}
}

func budgetsYAML(budgets []api.DisruptionBudget) string {
	list := &strict.Node{Shape: strict.ShapeList}
	for i := range budgets {
		b := &budgets[i]
		item := &strict.Node{Shape: strict.ShapeMap}
		item.Set("nodes", strict.TextNode(b.Limit()))
		for _, field := range []struct {
			name  string
			value *string
		}{{"schedule", b.Schedule}, {"duration", b.Duration}} {
			if field.value != nil {
				item.Set(field.name, strict.TextNode(*field.value))
			}
		}
		if b.TimeZone != "" {
			item.Set("timeZone", strict.TextNode(b.TimeZone))
		}
		list.Values = append(list.Values, item)
	}
	return (&strict.Node{Shape: strict.ShapeMap, Keys: []string{"budgets"}, Values: []*strict.Node{list}}).YAML()
}

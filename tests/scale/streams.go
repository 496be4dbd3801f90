package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/subjects"
)

// streamColumns are those of one stream, a delivery.
func streamColumns(stream string) []column {
	return []column{
		{"stored", "%.3f", func(m *Measured) float64 { return m.perDelivery(m.Traffic.Sent[stream].Messages) }},
		{"bytes", "%.0f", func(m *Measured) float64 { return m.perDelivery(m.Traffic.Sent[stream].Bytes) }},
		{"asked for", "%.3f", func(m *Measured) float64 { return m.perDelivery(m.Traffic.Asked[stream].Messages) }},
		{"answered", "%.3f", func(m *Measured) float64 { return m.perDelivery(m.Traffic.Read[stream].Messages) }},
		{"bytes", "%.0f", func(m *Measured) float64 { return m.perDelivery(m.Traffic.Read[stream].Bytes) }},
	}
}

// writeStreams writes what went to each stream and what agents asked it for.
func (r *Report) writeStreams(text *strings.Builder) {
	text.WriteString("\n## By stream, a delivery\n\n| scenario | stream |")
	for _, c := range streamColumns("") {
		fmt.Fprintf(text, " %s |", c.name)
	}
	text.WriteString("\n|---|---|---|---|---|---|---|\n")
	for _, step := range r.steps() {
		if !step[0].delivers() {
			continue
		}
		for _, stream := range streamsOf(step[0]) {
			fmt.Fprintf(text, "| %s | %s |", step[0].title(), stream)
			for _, c := range streamColumns(stream) {
				fmt.Fprintf(text, " "+c.form+" |", c.median(step))
			}
			text.WriteString("\n")
		}
	}
}

// streamsOf are those that a step has to do with, sorted.
func streamsOf(m *Measured) []string {
	names := map[string]struct{}{}
	for _, counts := range []map[string]Count{m.Traffic.Sent, m.Traffic.Asked} {
		for name := range counts {
			names[name] = struct{}{}
		}
	}
	delete(names, subjects.Lease)
	return slices.Sorted(maps.Keys(names))
}

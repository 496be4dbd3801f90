// Package phrase holds what sentences for people have in common: counts, lists of names, spans of time.
package phrase

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plural is the word for n of something.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count is "1 node", "2 nodes".
func Count(n int, what string) string {
	return fmt.Sprintf("%d %s", n, Plural(n, what, what+"s"))
}

// Names are at most so many names, and how many more there are: "a, b and 3 more".
func Names(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Enumerate is Names of at most twenty.
func Enumerate(names []string) string { return Names(names, 20) }

// Lines are at most so many lines, and one that says how many more there are.
func Lines(lines []string, most int) []string {
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clip(lines[:most]), "and "+Digits(len(lines)-most)+" more")
}

// List is an enumeration of at most so many names: "a, b and c", "a, b, c and 2 others".
func List(names []string, most int) string { return First(names[:min(len(names), most)], len(names)) }

// First is List where only the first names are at hand, of so many.
func First(names []string, of int) string {
	n := len(names)
	if more := of - n; more > 0 {
		return strings.Join(names, ", ") + fmt.Sprintf(" and %d %s", more, Plural(more, "other", "others"))
	}
	if n < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
}

// Span is a duration without trailing zeros: "20m", "1h30m15s".
func Span(d time.Duration) string {
	text := d.String()
	if short, cut := strings.CutSuffix(text, "m0s"); cut {
		text = short + "m"
	}
	if short, cut := strings.CutSuffix(text, "h0m"); cut {
		text = short + "h"
	}
	return text
}

// Until is " until 2026-11-20T12:00:00Z", nothing for no time.
func Until(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " until " + at.UTC().Format(time.RFC3339)
}

// Digits is a number with its digits in groups: "10,000".
func Digits(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Quoted is a text of somebody else's in quotes, shortened.
func Quoted(text string) string {
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return strconv.Quote(text)
}

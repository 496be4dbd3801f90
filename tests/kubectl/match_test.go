//go:build kubectl

package kubectl_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// faults is where a step printed something else than it was to.
func (s *step) faults(namespace, out, errs string) []string {
	var onOut, onErr, never, all []string
	for _, line := range s.want {
		line = strings.ReplaceAll(line, "$ns", namespace)
		if rest, is := strings.CutPrefix(line, "2> "); is {
			onErr = append(onErr, rest)
		} else if rest, is := strings.CutPrefix(line, "!> "); is {
			never = append(never, rest)
		} else {
			onOut = append(onOut, line)
		}
	}
	all = append(all, inOrder(onOut, linesOf(out), false)...)
	all = append(all, inOrder(onErr, linesOf(errs), true)...)
	for _, pattern := range never {
		if slices.ContainsFunc(append(linesOf(out), linesOf(errs)...), matches(pattern)) {
			all = append(all, fmt.Sprintf("found %q", pattern))
		}
	}
	return all
}

// inOrder is which of some patterns no line is, each behind the one before; strict that each line is one.
func inOrder(patterns, lines []string, strict bool) (faults []string) {
	for _, pattern := range patterns {
		at := slices.IndexFunc(lines, matches(pattern))
		if at < 0 {
			return append(faults, fmt.Sprintf("expected %q", pattern))
		}
		if strict && at > 0 {
			faults = append(faults, fmt.Sprintf("expected no %q", lines[:at]))
		}
		lines = lines[at+1:]
	}
	if strict && len(lines) > 0 {
		faults = append(faults, fmt.Sprintf("expected no %q", lines))
	}
	return faults
}

// linesOf are the lines of a text that hold anything, with one blank for many.
func linesOf(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// matches says whether a line is as a pattern has it.
func matches(pattern string) func(string) bool {
	words := regexp.QuoteMeta(strings.Join(strings.Fields(pattern), " "))
	is := regexp.MustCompile("^" + strings.ReplaceAll(words, "…", ".*") + "$")
	return is.MatchString
}

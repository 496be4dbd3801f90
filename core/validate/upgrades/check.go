// Package upgrades holds documents around upgrades to the rules of their kinds: runs, strategies, profiles, catalogs and
// schedules. What its functions return tells every fault at once, with its place and, where one is obvious, the correction.
package upgrades

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/strict"
)

var (
	updateNamePattern   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	concurrencyPattern  = regexp.MustCompile(`^(?:([1-9]\d*)|([1-9]\d?|100)%)$`)
	failuresPattern     = regexp.MustCompile(`^(?:0|[1-9]\d*|(?:0|[1-9]\d?|100)%)$`)
	clockPattern        = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)
	offsetPattern       = regexp.MustCompile(`^[+-]((0[0-9]|1[0-3]):[0-5][0-9]|14:00)$`)
	upgradeVersion      = regexp.MustCompile(`^v?\d{1,9}\.\d{1,9}(\.\d{1,9})?$`)
	upgradeMinor        = regexp.MustCompile(`^v?\d{1,9}\.\d{1,9}$`)
	upgradeRelease      = regexp.MustCompile(`^v?\d{1,9}\.\d{1,9}\.\d{1,9}$`)
	imageVersionPattern = regexp.MustCompile(`^\d{1,9}(\.\d{1,9}){1,2}$`)
)

// faults collects what is wrong with one document around upgrades.
type faults struct {
	object string
	found  strict.Findings
}

func (u *faults) list() strict.Faults { return u.found.Faults(u.object) }

func (u *faults) add(path, found, expected string) { u.addFix(path, found, expected, nil) }

func (u *faults) addFix(path, found, expected string, fix *strict.Node) {
	u.found.Add(strict.At(path), found, expected, fix)
}

func (u *faults) name(path, name string) {
	switch {
	case len(name) > api.MaxUpdateName:
		u.add(path, fmt.Sprintf("a name of %d characters", len(name)), fmt.Sprintf("1 to %d characters", api.MaxUpdateName))
	case !updateNamePattern.MatchString(name):
		u.addFix(path, strict.Shown(name), "lower-case letters, digits and inner dashes", strict.Lowered(name, func(fixed string) []string {
			if updateNamePattern.MatchString(fixed) {
				return nil
			}
			return []string{fixed}
		}))
	}
}

func (u *faults) match(path, value string, pattern *regexp.Regexp, expected string) {
	if !pattern.MatchString(value) {
		u.add(path, strict.Shown(value), expected)
	}
}

// word requires one of the words; an empty value is accepted when optional.
func (u *faults) word(path, value string, optional bool, words ...string) {
	if value == "" && optional {
		return
	}
	if slices.Contains(words, value) {
		return
	}
	var fix *strict.Node
	if near := strict.Nearest(value, words); near != "" {
		fix = strict.TextNode(near)
	}
	u.addFix(path, strict.Shown(value), "one of "+listed(words), fix)
}

func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func (u *faults) within(path string, value, low, high int) {
	if value < low || value > high {
		u.add(path, strconv.Itoa(value), fmt.Sprintf("%d to %d", low, high))
	}
}

func (u *faults) selector(path string, selector *api.MemberSelector) {
	if selector == nil {
		return
	}
	path += ".byLabel"
	if len(selector.ByLabel) > api.MaxSelectorLength {
		u.add(path, fmt.Sprintf("%d characters", len(selector.ByLabel)), fmt.Sprintf("at most %d", api.MaxSelectorLength))
		return
	}
	if _, err := labels.Parse(selector.ByLabel); err != nil {
		u.add(path, strict.Shown(selector.ByLabel), "a label selector such as env=prod,tier in (fe,be): "+err.Error())
	}
}

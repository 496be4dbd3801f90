package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"flotilla/configs"
)

// Where the folders of agents lie.
const (
	onDisk   = "disk"
	inMemory = "memory"
)

// Whom a placement is for.
const (
	toAll    = "all"
	toTenth  = "tenth"
	toRanked = "ranked" // one member in a hundred, those with most nodes
)

// Scenario is what a fleet is put through, one step after another.
type Scenario struct {
	Name string `json:"name"`
	// Says is one sentence about what it shows.
	Says    string `json:"says"`
	Members int    `json:"members"`
	// Processes is over how many processes agents are spread, 1 when 0: each may open so many files.
	Processes int `json:"processes,omitempty"`
	// Folders are where those of agents lie, a pass for each: disk, memory.
	Folders []string `json:"folders"`
	// ReadyAfter is how long what was applied takes to become ready on a member.
	ReadyAfter configs.Duration `json:"readyAfter"`
	// Reconnect is how long agents wait before they try to reach a server that is gone, and up to as much again; that of
	// production when 0.
	Reconnect configs.Duration `json:"reconnect,omitempty"`
	Steps     []Step           `json:"steps"`
}

// Step is one of: place, change, restart, or nothing for a while. What is measured begins with it and ends when all is as it asks.
type Step struct {
	Name string `json:"name"`
	// Place applies new placements, each of a namespace with a ConfigMap and a Deployment.
	Place *Place `json:"place,omitempty"`
	// Change applies other content of placements that there are.
	Change *Change `json:"change,omitempty"`
	// Restart kills the hub with its server, starts it again, and has the fleet catch up.
	Restart *Restart `json:"restart,omitempty"`
	// Idle waits for so long. With Churn the properties of every member change once in Churn meanwhile.
	Idle  configs.Duration `json:"idle,omitempty"`
	Churn configs.Duration `json:"churn,omitempty"`
	// Bars are what tests hold a step against.
	Bars *Bars `json:"bars,omitempty"`
}

// atOnce is how many placements a step has under way.
func (s *Step) atOnce() int {
	switch {
	case s.Place != nil:
		return s.Place.AtOnce
	case s.Change != nil:
		return s.Change.AtOnce
	}
	return 1
}

// Place is about new placements.
type Place struct {
	Placements int `json:"placements"`
	// To is all, tenth or ranked.
	To string `json:"to"`
	// AtOnce is how many may be applied and not yet available.
	AtOnce int `json:"atOnce"`
}

// Change is about placements that there are, the oldest first.
type Change struct {
	Placements int `json:"placements"`
	AtOnce     int `json:"atOnce"`
	// Rounds is how often, 1 when 0.
	Rounds int `json:"rounds,omitempty"`
}

// Restart says how the fleet shows that it has caught up: a new placement to a tenth of it, and other content of so
// many placements on all of their members.
type Restart struct {
	Place  int `json:"place,omitempty"`
	Change int `json:"change,omitempty"`
}

//go:embed scenarios/*.yaml
var scenarioFiles embed.FS

// scenarios are those of the folder, by name.
func scenarios() (map[string]Scenario, error) {
	paths, err := fs.Glob(scenarioFiles, "scenarios/*.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]Scenario{}
	for _, p := range paths {
		text, err := fs.ReadFile(scenarioFiles, p)
		if err != nil {
			return nil, err
		}
		s, err := parseScenario(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		if found := strings.TrimSuffix(path.Base(p), ".yaml"); found != s.Name {
			return nil, fmt.Errorf("%s: name: found %q, expected that of the file", p, s.Name)
		}
		all[s.Name] = s
	}
	return all, nil
}

// parseScenario reads one, and returns every fault at once.
func parseScenario(text []byte) (Scenario, error) {
	var s Scenario
	if err := yaml.UnmarshalStrict(bytes.TrimSpace(text), &s); err != nil {
		return s, err
	}
	return s, s.check()
}

func (s *Scenario) check() error {
	var wrong []error
	unless := func(holds bool, at string, found any, expected string) {
		if !holds {
			wrong = append(wrong, fmt.Errorf("%s: found %v, expected %s", at, found, expected))
		}
	}
	unless(s.Says != "", "says", "nothing", "a sentence")
	unless(s.Members > 0, "members", s.Members, "1 or more")
	unless(len(s.Folders) > 0, "folders", "none", "disk, memory or both")
	for i, where := range s.Folders {
		unless(where == onDisk || where == inMemory, fmt.Sprintf("folders[%d]", i), where, "disk or memory")
	}
	unless(len(s.Steps) > 0, "steps", "none", "1 or more")
	for i := range s.Steps {
		s.Steps[i].check(fmt.Sprintf("steps[%d]", i), unless)
	}
	return errors.Join(wrong...)
}

func (s *Step) check(at string, unless func(bool, string, any, string)) {
	unless(s.Name != "", at+".name", "nothing", "a name")
	kinds := 0
	for _, is := range []bool{s.Place != nil, s.Change != nil, s.Restart != nil, s.Idle > 0} {
		if is {
			kinds++
		}
	}
	unless(kinds == 1, at, kinds, "one of place, change, restart and idle")
	unless(s.Churn == 0 || s.Idle > 0 || s.Change != nil, at+".churn", time.Duration(s.Churn), "it only with idle or change")
	if p := s.Place; p != nil {
		unless(p.To == toAll || p.To == toTenth || p.To == toRanked, at+".place.to", p.To, "all, tenth or ranked")
		unless(p.Placements > 0, at+".place.placements", p.Placements, "1 or more")
		unless(p.AtOnce > 0, at+".place.atOnce", p.AtOnce, "1 or more")
	}
	if c := s.Change; c != nil {
		unless(c.Placements > 0, at+".change.placements", c.Placements, "1 or more")
		unless(c.AtOnce > 0, at+".change.atOnce", c.AtOnce, "1 or more")
	}
}

// leastMembers have one in each tenth.
const leastMembers = 10

// scaled is the scenario with a part of its members and placements, at least leastMembers and one placement, and with at most
// so many members, unless that is 0.
func (s Scenario) scaled(by float64, most int) Scenario {
	part := func(n, least int) int { return min(n, max(least, int(math.Round(float64(n)*by)))) }
	s.Members = part(s.Members, leastMembers)
	if most > 0 {
		s.Members = min(s.Members, most)
	}
	steps := make([]Step, len(s.Steps))
	for i, step := range s.Steps {
		if step.Place != nil {
			p := *step.Place
			p.Placements = part(p.Placements, 1)
			step.Place = &p
		}
		if step.Change != nil {
			c := *step.Change
			c.Placements = part(c.Placements, 1)
			step.Change = &c
		}
		if step.Restart != nil {
			r := *step.Restart
			r.Place, r.Change = part(r.Place, 1), part(r.Change, 1)
			step.Restart = &r
		}
		steps[i] = step
	}
	s.Steps = steps
	return s
}

package configs

import (
	"fmt"
	"strconv"

	"flotilla/core/validate"
)

// Checks are what rollout checks may ask, by name: who writes a RolloutCheck names one of these, and says no address.
type Checks struct {
	// Prometheus are servers that are asked with instant queries, Webhooks addresses that are posted to.
	Prometheus []CheckEndpoint `json:"prometheus,omitempty"`
	Webhooks   []CheckEndpoint `json:"webhooks,omitempty"`
	Commands   []CheckCommand  `json:"commands,omitempty"`
}

// CheckEndpoint is an address. In URL and Headers ${NAME} stands for a variable of the hub's environment.
type CheckEndpoint struct {
	Name    string            `json:"name"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// CheckCommand is a program that gets what is asked as JSON on its standard input. In Environment ${NAME} stands for a
// variable of the hub's environment, which the program has too.
type CheckCommand struct {
	Name string `json:"name"`
	// Argv is the program and its arguments; not read by a shell.
	Argv        []string          `json:"argv"`
	Environment map[string]string `json:"environment,omitempty"`
}

// maxEndpoints is how many of one sort there may be.
const maxEndpoints = 100

func (c *checks) rolloutChecks(all *Checks) {
	endpoints := func(at string, list []CheckEndpoint) {
		names := map[string]int{}
		for i := range list[:c.atMost(at, len(list))] {
			e, at := &list[i], fmt.Sprintf("%s[%d]", at, i)
			c.named(at, e.Name, i, names)
			c.endpoint(at, e.URL, e.Headers)
		}
	}
	endpoints("checks.prometheus", all.Prometheus)
	endpoints("checks.webhooks", all.Webhooks)
	names := map[string]int{}
	for i := range all.Commands[:c.atMost("checks.commands", len(all.Commands))] {
		e, at := &all.Commands[i], fmt.Sprintf("checks.commands[%d]", i)
		c.named(at, e.Name, i, names)
		c.program(at, e.Argv, e.Environment)
	}
}

func (c *checks) atMost(at string, n int) int {
	c.unless(n <= maxEndpoints, at, fmt.Sprintf("%d of them", n), fmt.Sprintf("at most %d", maxEndpoints))
	return min(n, maxEndpoints)
}

// named checks a name that a list has once.
func (c *checks) named(at, name string, i int, names map[string]int) {
	c.faults = append(c.faults, validate.MemberName(at+".name", name)...)
	if before, again := names[name]; again {
		c.add(at+".name", strconv.Quote(name)+" again", fmt.Sprintf("another name than that of number %d has", before))
	}
	names[name] = i
}

package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Modes of a campaign.
const (
	modeSingle  = "single"  // one hub with a server of its own
	modeCluster = "cluster" // three servers and two hubs
)

// Faults of a Step.
const (
	kill   = "kill"   // SIGKILL, started again after a while
	stop   = "stop"   // SIGSTOP, SIGCONT after a while
	end    = "end"    // SIGTERM, SIGKILL for what has not ended after a while, started again
	cut    = "cut"    // all connections of clients, or agents, are cut
	delay  = "delay"  // answers are held back for a while
	forget = "forget" // answers are held back, and then lost with their connections
	double = "double" // whatever is published arrives twice, for a while
	older  = "older"  // the hub's data is replaced by a copy that is a while older
	flip   = "flip"   // SIGTERM, 64 bytes in the files of state are turned over, started again
	full   = "full"   // the disk of the hub is full, for a while
	tear   = "tear"   // SIGKILL, and what was written to state since a while before is gone, started again
)

// Sides of a fleet whose connections can be disturbed.
const (
	sideClients = "clients"
	sideAgents  = "agents"
)

// leader is the hub that leads when a step begins.
const leader = "leader"

// step is one fault.
type step struct {
	At, For    time.Duration
	What, Whom string
}

func (s step) String() string {
	return fmt.Sprintf("%s %s %s for %s", s.At.Round(time.Millisecond), s.What, s.Whom, s.For.Round(time.Millisecond))
}

// kind names a fault and what it was done to, whichever of them that was.
func (s step) kind() string {
	whom, _, _ := strings.Cut(s.Whom, "-")
	switch whom {
	case leader:
		whom = "hub"
	case "broker":
		whom = "server"
	}
	return s.What + " " + whom
}

// plan is what happens to a fleet, in the order in which it begins.
type plan []step

func (p plan) String() string {
	lines := make([]string, len(p))
	for i, s := range p {
		lines[i] = s.String()
	}
	return strings.Join(lines, "\n")
}

func (p plan) kinds() []string {
	kinds := make([]string, len(p))
	for i, s := range p {
		kinds[i] = s.kind()
	}
	return kinds
}

// kinds are all that draw may draw.
func kinds() []string {
	found := map[string]bool{}
	random := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		for _, mode := range []string{modeSingle, modeCluster} {
			for _, kind := range draw(random, mode, time.Second).kinds() {
				found[kind] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// draw draws what happens to a fleet within a time.
func draw(random *rand.Rand, mode string, within time.Duration) plan {
	processes := []string{"hub-0"}
	if mode == modeCluster {
		processes = []string{leader, leader, leader, "hub-0", "hub-1", "broker-0", "broker-1", "broker-2"}
	}
	p := make(plan, 2+random.IntN(4))
	for i := range p {
		s := step{At: time.Duration(random.Int64N(int64(within))), For: 100*time.Millisecond + time.Duration(random.Int64N(int64(within/2)))}
		switch n := random.IntN(20); {
		case n < 7:
			s.What, s.Whom = pick(random, kill, stop, stop, end), pick(random, processes...)
		case n < 11:
			s.What, s.Whom = pick(random, kill, stop, end), "agent-"+pick(random, memberNames...)
		case n < 13 && mode == modeSingle:
			s.What, s.Whom = pick(random, older, flip, tear), "hub-0"
		case n < 12:
			s.What, s.Whom = flip, "broker-1" // always the same: of three replicas one may be damaged
		default:
			s.What, s.Whom = pick(random, cut, delay, forget, double, double), pick(random, sideClients, sideAgents)
		}
		p[i] = s
	}
	slices.SortFunc(p, func(a, b step) int { return int(a.At - b.At) })
	return p
}

func pick(random *rand.Rand, from ...string) string { return from[random.IntN(len(from))] }

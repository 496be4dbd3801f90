package main

import (
	"maps"
)

// Count is how many messages, and how many bytes they have: headers and body.
type Count struct {
	Messages float64 `json:"messages"`
	Bytes    float64 `json:"bytes"`
}

func (c Count) and(other Count) Count {
	return Count{c.Messages + other.Messages, c.Bytes + other.Bytes}
}

func (c Count) since(before Count) Count {
	return Count{c.Messages - before.Messages, c.Bytes - before.Bytes}
}

// each is the size of a message, 0 of none.
func (c Count) each() float64 {
	if c.Messages == 0 {
		return 0
	}
	return c.Bytes / c.Messages
}

// Traffic is what went over the bus, by the short names of streams.
type Traffic struct {
	// Sent were given to a stream to store, Asked asked one for its newest message of a subject, and Read are the
	// answers, which are those to agents.
	Sent  map[string]Count `json:"sent"`
	Asked map[string]Count `json:"asked"`
	Read  map[string]Count `json:"read"`
	// Hints tell agents that a command was stored.
	Hints Count `json:"hints"`
	// In and Out are all that the server took from clients and gave them, whatever it was, without what it gave the rig.
	In  Count `json:"in"`
	Out Count `json:"out"`
	// Stored is by how much the last number of a stream grew, which is what it took in.
	Stored map[string]float64 `json:"stored"`
}

// since is what came after before.
func (t Traffic) since(before Traffic) Traffic {
	return Traffic{
		Sent: sinceEach(t.Sent, before.Sent), Asked: sinceEach(t.Asked, before.Asked), Read: sinceEach(t.Read, before.Read),
		Hints: t.Hints.since(before.Hints), In: t.In.since(before.In), Out: t.Out.since(before.Out),
		Stored: lessEach(t.Stored, before.Stored),
	}
}

func sinceEach(now, before map[string]Count) map[string]Count {
	out := map[string]Count{}
	for name, count := range now {
		if d := count.since(before[name]); d.Messages != 0 {
			out[name] = d
		}
	}
	return out
}

// lessEach leaves out what did not change.
func lessEach(now, before map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for name, count := range now {
		if d := count - before[name]; d != 0 {
			out[name] = d
		}
	}
	return out
}

// sum adds up all but those named.
func sum(counts map[string]Count, without ...string) Count {
	counts = maps.Clone(counts)
	for _, name := range without {
		delete(counts, name)
	}
	var total Count
	for _, c := range counts {
		total = total.and(c)
	}
	return total
}

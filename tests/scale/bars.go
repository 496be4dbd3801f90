package main

import (
	"errors"
	"fmt"

	"flotilla/subjects"
)

// Bars are the most that a delivery may take, on the average of a step. None is about time.
type Bars struct {
	// Messages and Bytes were given to streams to store, heartbeats left out, and Read is in bytes that agents asked for.
	Messages float64 `json:"messages"`
	Bytes    float64 `json:"bytes"`
	Read     float64 `json:"read"`
	// Contents is how often agents were given content.
	Contents float64 `json:"contents"`
	// SchedulerRuns are those at a placement.
	SchedulerRuns float64 `json:"schedulerRuns"`
	// Commands and Results were stored, each for itself.
	Commands float64 `json:"commands"`
	Results  float64 `json:"results"`
}

// over lists what is above its bar.
func (b *Bars) over(m *Measured) error {
	var over []error
	for _, bar := range []struct {
		what        string
		found, most float64
	}{
		{"messages", m.perDelivery(m.sent().Messages), b.Messages},
		{"bytes stored", m.perDelivery(m.sent().Bytes), b.Bytes},
		{"bytes read", m.perDelivery(m.read().Bytes), b.Read},
		{"answers with content", m.perDelivery(m.Traffic.Read[subjects.Content].Messages), b.Contents},
		{"runs of the scheduler", m.perDelivery(m.Runs[schedulerRuns]), b.SchedulerRuns},
		{"commands", m.perDelivery(m.Traffic.Stored[subjects.Commands]), b.Commands},
		{"results", m.perDelivery(m.Traffic.Stored[subjects.Result]), b.Results},
	} {
		if bar.found > bar.most {
			over = append(over, fmt.Errorf("%s: found %.3f %s a delivery, expected at most %g", m.title(), bar.found, bar.what, bar.most))
		}
	}
	return errors.Join(over...)
}

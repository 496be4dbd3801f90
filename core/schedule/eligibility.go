package schedule

import (
	"fmt"
	"math"
	"time"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// bond is the set of facts that stand against a member's eligibility, apart from ages.
type bond uint8

const (
	bondLeaving bond = 1 << iota
	bondNoAgent
	bondNotJoined
	bondNoHealth
	bondUnhealthy
)

func bondOf(m *api.Member) bond {
	var b bond
	for _, fact := range [...]struct {
		holds bool
		bond  bond
	}{
		{m.Leaving, bondLeaving},
		{!m.HasAgent, bondNoAgent},
		{m.Joined != "True", bondNotJoined},
		{m.Healthy == "", bondNoHealth},
		{m.Healthy != "" && m.Healthy != "True", bondUnhealthy},
	} {
		if fact.holds {
			b |= fact.bond
		}
	}
	return b
}

// The tests of eligibility in their order.
const (
	eligible = iota
	hasLeft
	notOnline
	noHeartbeat
	notJoined
	noHealth
	unhealthy
	eligibilityTests
)

// eligibilityWants are the phrases of the tests; the thresholds of two of them are filled in.
func eligibilityWants(t Thresholds) [eligibilityTests]verdict.Want {
	const offline = "cluster is not connected to the fleet: "
	return [...]verdict.Want{
		hasLeft:     {Subject: "cluster has left the fleet"},
		notOnline:   {Subject: offline + "member agent not online yet"},
		noHeartbeat: {Subject: offline + "no recent heartbeat signals (last received {} minutes ago)", Wanted: within(t.Heartbeat)},
		notJoined:   {Subject: offline + "member agent not joined yet"},
		noHealth:    {Subject: offline + "health condition from member agent is not available"},
		unhealthy:   {Subject: offline + "unhealthy for a prolonged period of time (last transitioned {} minutes ago)", Wanted: within(t.Unhealthy)},
	}
}

func within(d time.Duration) string { return fmt.Sprintf("at most %.2f", d.Minutes()) }

// clock holds the ages of a decision in nanoseconds.
type clock struct {
	now       int64
	heartbeat int64
	unhealthy int64
}

func clockOf(now time.Time, t Thresholds) clock {
	return clock{nanos(now), int64(t.Heartbeat), int64(t.Unhealthy)}
}

// ineligible returns the first test that the member fails, and the age it failed by.
func (c clock) ineligible(b bond, beat, turned int64) (test int, age int64) {
	stale := c.now - beat
	if b == 0 && stale <= c.heartbeat {
		return eligible, 0
	}
	switch {
	case b&bondLeaving != 0:
		return hasLeft, 0
	case b&bondNoAgent != 0:
		return notOnline, 0
	case stale > c.heartbeat:
		return noHeartbeat, stale
	case b&bondNotJoined != 0:
		return notJoined, 0
	case b&bondNoHealth != 0:
		return noHealth, 0
	}
	if age := c.now - turned; age > c.unhealthy {
		return unhealthy, age
	}
	return eligible, 0
}

// minutes rounds an age in nanoseconds to hundredths of a minute, at most forty years.
func minutes(age int64) int32 {
	return int32(min(math.MaxInt32, math.Round(float64(age)/float64(time.Minute/100))))
}

package liveness

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// Starts of an agent follow each other; one that comes back is another agent's.
func TestTwoAgentsOfOneMemberAreNoticed(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for name, c := range map[string]struct {
		boots   []string
		doubled int // the heartbeat that showed it last, 0: none did
	}{
		"one agent":                       {[]string{"a", "a", "a"}, 0},
		"an agent that starts anew":       {[]string{"a", "b", "b", "c", "d", "e"}, 0},
		"two in turn":                     {[]string{"a", "b", "a"}, 3},
		"two in turn, for longer":         {[]string{"a", "b", "a", "a", "b", "b", "b"}, 5},
		"three in turn":                   {[]string{"a", "b", "c", "a"}, 4},
		"one whose twin was stopped":      {[]string{"a", "b", "a", "a", "a"}, 3},
		"one that starts anew beside one": {[]string{"a", "b", "c", "a"}, 4},
		"as many as are remembered":       {[]string{"a", "b", "c", "d", "a"}, 5},
		"more than are remembered":        {[]string{"a", "b", "c", "d", "e", "a"}, 0},
		"long ids":                        {[]string{long + "a", "b", long + "a"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var b Boots
			for i, boot := range c.boots {
				b.Hear(&api.Heartbeat{Boot: boot, IntervalSeconds: 15}, now.Add(time.Duration(i+1)*time.Second))
			}
			var want time.Time
			if c.doubled > 0 {
				want = now.Add(time.Duration(c.doubled)*time.Second + 45*time.Second)
			}
			require.Equal(t, want, b.DoubledUntil(time.Minute))
			for _, boot := range b.seen {
				require.LessOrEqual(t, len(boot), longestBoot)
			}
		})
	}
}

// Two agents of which one sends seldom count as two for as long as it may take until that is heard again.
func TestTwoAgentsOfDifferentPace(t *testing.T) {
	var b Boots
	for second := 0; second <= 600; second += 15 {
		at := now.Add(time.Duration(second) * time.Second)
		b.Hear(&api.Heartbeat{Boot: "often", IntervalSeconds: 15}, at)
		if second%120 == 60 {
			b.Hear(&api.Heartbeat{Boot: "seldom", IntervalSeconds: 120}, at.Add(time.Second))
		}
		if second > 60 {
			require.Greater(t, b.DoubledUntil(5*time.Minute), at.Add(15*time.Second), "%d s", second)
		}
	}
}

// A broker that lost the newest heartbeat gives the one before again: that is no other agent. What an agent says of its interval keeps its
// member from being Ready for no longer than silence would.
func TestWhatTwoAgentsAreIsBounded(t *testing.T) {
	var b Boots
	beat := func(boot string, at, interval int) {
		b.Hear(&api.Heartbeat{Boot: boot, IntervalSeconds: interval}, now.Add(time.Duration(at)*time.Second))
	}
	beat("a", 1, 15)
	beat("b", 2, 15)
	beat("a", 1, 15)
	beat("b", 3, 15)
	require.Zero(t, b.DoubledUntil(time.Minute))
	beat("a", 4, 1<<62)
	require.Equal(t, now.Add(4*time.Second+time.Minute), b.DoubledUntil(time.Minute))
}

package gate

import "time"

const (
	// mostClosings and fewClosings bound how many connections make place in a second, otherwise as many as there are places: then each that came
	// has a second. Half of them are for one network at most, and as many more for networks that have caused none in that second.
	mostClosings = 1000
	fewClosings  = 200
)

// closings are the connections that made place in the last second, by the network of the one that came for each.
type closings struct {
	most int
	all  []closing // oldest first
	of   map[string]int
}

type closing struct {
	network string
	at      time.Time
}

func newClosings(places int) closings {
	return closings{most: min(max(places, fewClosings), mostClosings), of: map[string]int{}}
}

// allow says whether one more may make place for one that comes from a network, and notes that it does.
func (c *closings) allow(network string, now time.Time) bool {
	for len(c.all) > 0 && now.Sub(c.all[0].at) >= time.Second {
		if old := c.all[0].network; c.of[old] > 1 {
			c.of[old]--
		} else {
			delete(c.of, old)
		}
		c.all = c.all[1:]
	}
	caused := c.of[network]
	if caused >= c.most/2 || caused > 0 && len(c.all) >= c.most || len(c.all) >= 2*c.most {
		return false
	}
	c.all = append(c.all, closing{network, now})
	c.of[network]++
	return true
}

package crowd

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// part is what a member is in the fleet for.
type part int

const (
	partReady   part = iota
	partNodes        // has a real agent, and nodes in memory
	partJoining      // nobody admits it
	partSilent       // beats once
	partUnwell       // says that its API server does not answer
	partCordoned
	partLeaving // never confirms that anything left it
	partFrozen
)

// Waves of the run over a tenth of the fleet.
const (
	waveCanary  = "canary"
	waveStaging = "staging"
	waveEast    = "prod-east"
	waveWest    = "prod-west" // waits for an approval
)

// Rings of the runs that are over: one is finished, one failed.
const (
	ringLab  = "lab"
	ringEdge = "edge"
)

// places are the regions, with how many of 100 members each has.
var places = []struct {
	region string
	share  int
}{
	{"eu-west", 24},
	{"us-east", 20},
	{"ap-south", 12},
	{"eu-north", 11},
	{"us-west", 9},
	{"ap-east", 7},
	{"sa-east", 5},
	{"eu-south", 4},
	{"af-south", 3},
	{"me-west", 2},
	{"ca-north", 2},
	{"au-east", 1},
}

// member is what is planned of one member.
type member struct {
	number                int
	name, region, zone    string
	env, tier, team, wave string
	ring                  string
	version               string
	nodes                 int
	part                  part
	// windowed says that its maintenance window is closed for days.
	windowed bool
	// upgrades is what comes of operations, by run; they end well where nothing is said.
	upgrades map[string]ending
}

// ending is what comes of something that a player was told to do.
type ending int

const (
	endsWell ending = iota
	fails
	hangs
)

// plan says what a fleet of so many members is made of; the same of the same seed.
func plan(members int, seed uint64) []*member {
	random := rand.New(rand.NewPCG(seed, uint64(members)))
	all := make([]*member, members)
	for i := range all {
		all[i] = newMember(i, random)
	}
	cast(all)
	enlist(all)
	return all
}

func newMember(i int, random *rand.Rand) *member {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	m := &member{
		number: i, region: regionOf(i), version: pick("v1.35.9", "v1.36.3", "v1.36.3", "v1.36.3"), upgrades: map[string]ending{},
		env: pick("prod", "prod", "prod", "staging", "dev"), tier: pick("gold", "silver", "silver", "bronze"),
		team: fmt.Sprintf("team-%02d", random.IntN(40)), nodes: 3 + random.IntN(40),
	}
	m.name, m.zone = fmt.Sprintf("%s-%04d", m.region, i), fmt.Sprintf("%s-%d", m.region, 1+random.IntN(3))
	return m
}

// regionOf spreads members over regions so that the first ten are in several.
func regionOf(i int) string {
	at := i * 61 % 100
	for _, p := range places {
		if at -= p.share; at < 0 {
			return p.region
		}
	}
	panic("the shares of regions are less than 100")
}

// cast gives members their parts. Who is silent is so in one region, most who are unwell in another, as when a network or a
// provider fails.
func cast(all []*member) {
	n := len(all)
	all[0].part = partNodes
	give := func(p part, count int, fits func(*member) bool) {
		for _, m := range all {
			if count > 0 && m.part == partReady && fits(m) {
				m.part, count = p, count-1
			}
		}
	}
	in := func(region string) func(*member) bool { return func(m *member) bool { return m.region == region } }
	anywhere := func(*member) bool { return true }
	give(partFrozen, 1, anywhere)
	give(partSilent, share(n, 97), in("eu-west"))
	give(partUnwell, share(n, 31), in("us-east"))
	give(partUnwell, share(n, 41)-share(n, 31), anywhere)
	give(partCordoned, 1, anywhere)
	give(partLeaving, 1, anywhere)
	slices.Reverse(all)
	give(partJoining, share(n, 12), anywhere)
	slices.Reverse(all)
}

// share is so many of 10,000, at least one.
func share(members, of10000 int) int { return max(1, members*of10000/10000) }

// enlist gives members their places in runs: a tenth of them, of ten members five, goes through the waves.
func enlist(all []*member) {
	free := slices.DeleteFunc(slices.Clone(all), func(m *member) bool {
		return m.part != partReady && m.part != partFrozen && m.part != partCordoned
	})
	n := max(min(5, len(free)), len(all)/10)
	canary, staging := max(1, n/25), max(1, n/10)
	east := (n - canary - staging + 1) / 2
	for i, m := range free[:n] {
		m.version = "v1.36.3"
		switch {
		case i < canary:
			m.wave = waveCanary
		case i < canary+staging:
			m.wave = waveStaging
			m.upgrades[runSpring] = of(i == canary, fails, endsWell)
		case i < canary+staging+east:
			m.wave = waveEast
			at := i - canary - staging
			m.windowed = at%3 == 2 || at > 0 && at == east-1
		default:
			m.wave = waveWest
		}
	}
	all[0].ring, all[0].version = ringLab, "v1.36.3"
	for _, m := range free[len(free)-share(len(all), 4):] {
		m.ring, m.version = ringEdge, "v1.36.3"
		m.upgrades[runAutumn] = fails
	}
}

// of is one of two values.
func of[T any](first bool, one, other T) T {
	if first {
		return one
	}
	return other
}

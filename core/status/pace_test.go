package status

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const gather = 100 * time.Millisecond

// look is a look at news, so long after the start.
func (p *Pace) look(after time.Duration, settled bool) (due time.Duration) {
	now := start.Add(after)
	p.Hear(now)
	return p.Due(settled, gather, now).Sub(now)
}

func TestNewsIsWrittenOnceASecondAndWhatHasArrivedAtOnce(t *testing.T) {
	var p Pace
	at := func(after time.Duration) time.Time { return start.Add(after) }
	require.Equal(t, start, p.Due(false, gather, start), "nothing was heard: time alone changed something")
	require.Equal(t, gather, p.look(0, false), "the first is gathered")
	require.Equal(t, 40*time.Millisecond, p.look(60*time.Millisecond, false), "from when it was heard of")
	require.Zero(t, p.look(gather, false))
	p.Done(false, true, at(gather))

	require.Equal(t, every-gather, p.look(2*gather, false), "once a second")
	require.Zero(t, p.look(3*gather, true), "all has arrived")
	p.Done(true, true, at(3*gather))
	require.Equal(t, every-gather, p.look(4*gather, true), "what is over is over")
	require.Equal(t, every-2*gather, p.look(5*gather, false))
	require.Zero(t, p.look(6*gather, true), "it went on meanwhile, and is over again")
	p.Done(true, false, at(6*gather))
	require.Equal(t, gather, p.look(20*gather, false), "a second after the last it is gathered only")
}

// A member that goes back and forth as fast as it can has a status written once a second, after a while.
func TestWhoGoesBackAndForthMakesThePaceNoFaster(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var p Pace
	const long = time.Minute
	written := 0
	for after := time.Duration(0); after < long; after += 20 * time.Millisecond {
		settled := rng.IntN(2) == 0
		if p.look(after, settled) <= 0 {
			p.Done(settled, true, start.Add(after))
			written++
		}
	}
	require.LessOrEqual(t, written, int((long+2*ahead)/every))
	require.GreaterOrEqual(t, written, int(long/every)-1, "and is not held up either")
}

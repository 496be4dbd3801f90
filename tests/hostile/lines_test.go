package hostile

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// logged counts the lines of a log that hold a text.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

func (l *logged) with(text string) (lines int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			lines++
		}
	}
	return lines
}

// Lines of the hub's log that a member causes are few, whatever it sends and however often.
func TestNobodyFillsTheLog(t *testing.T) {
	log := &logged{}
	g := newGround(t, func(o *dev.Options) { o.Hub.Log = zerolog.New(log).Level(zerolog.InfoLevel) })
	began := elsewhen.Now()
	for i := range 500 {
		for _, subject := range []string{
			g.names.BucketSubject(subjects.Heartbeat, attacker), g.names.NodeEvent(attacker, fmt.Sprint("n", i%20)),
			g.names.BucketSubject(subjects.Result, subjects.ResultSlotKey(attacker, 1)),
			g.names.BucketSubject(subjects.Heartbeat, victim), g.names.BucketSubject(subjects.State, subjects.MemberSpecs.Key(attacker)),
		} {
			require.NoError(t, g.mallory.Publish(subject, fmt.Appendf(nil, `{"no":%d`, i)))
		}
		g.ask(api.VerbStatus, nil) // what is asked for is decoded
	}
	require.NoError(t, g.mallory.Flush())
	g.lives()
	for _, says := range []string{"cannot be decoded", "what the agent tells of nodes cannot be read", "results cannot be read", "Publish Violation"} {
		bustest.Eventually(t, func() error {
			if lines := log.with(says); lines == 0 || lines > 21+2*int(elsewhen.Since(began)/(10*time.Second)) {
				return fmt.Errorf("%d lines say %s", lines, says)
			}
			return nil
		})
	}
}

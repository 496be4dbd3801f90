package lines_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/lines"
)

// bounded is a Bound, the log that it bounds, and the time.
type bounded struct {
	lines.Bound
	log bytes.Buffer
	now time.Time
}

func newBounded() *bounded {
	b := &bounded{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.Now = func() time.Time { return b.now }
	return b
}

// cause has somebody cause a line so often, and returns the lines that were logged.
func (b *bounded) cause(who string, times int) []string {
	b.log.Reset()
	log := zerolog.New(&b.log)
	for range times {
		b.Of(who, log.Error).Str("member", who).Msg("it cannot be read")
	}
	return strings.FieldsFunc(b.log.String(), func(r rune) bool { return r == '\n' })
}

func TestAFloodIsLoggedNowAndThen(t *testing.T) {
	b := newBounded()
	require.Len(t, b.cause("eve", 1000), 20)
	require.Len(t, b.cause("anna", 3), 3, "another has lines of their own")
	b.now = b.now.Add(10 * time.Second)
	require.Equal(t, []string{`{"level":"error","leftOut":980,"member":"eve","message":"it cannot be read"}`}, b.cause("eve", 2))
	b.now = b.now.Add(time.Hour)
	require.Contains(t, b.cause("eve", 1)[0], `"leftOut":1,`)
	require.NotContains(t, b.cause("eve", 1)[0], "leftOut")
}

func TestStrangersByTheThousandShareLines(t *testing.T) {
	b := newBounded()
	logged := 0
	for i := range 10_000 {
		logged += len(b.cause(fmt.Sprint("m", i), 1))
	}
	require.Equal(t, 4096+20, logged)
	b.now = b.now.Add(10 * time.Second)
	require.Len(t, b.cause("new", 2), 2, "who caused nothing of late is forgotten")
}

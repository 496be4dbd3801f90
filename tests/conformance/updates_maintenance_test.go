package conformance

import (
	"fmt"
	"strconv"
	"testing"
	"time"
	_ "time/tzdata" // zones without a system's files

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/window"
)

type windowCase struct {
	ID       string                `json:"id"`
	Note     string                `json:"note"`
	Schedule api.MaintenanceWindow `json:"schedule"`
	Now      time.Time             `json:"now"`
	Want     struct {
		Class  int        `json:"class"`
		Open   bool       `json:"open"`
		Opens  *time.Time `json:"opens"`
		Closes *time.Time `json:"closes"`
	} `json:"want"`
}

func TestWindows(t *testing.T) {
	cases := casesOf[windowCase](t, "windows.jsonl.gz")
	report(t, "windows", judgeEach(cases, func(c *windowCase) outcome { return judgeWindow(t, c) }), nil)
}

func judgeWindow(t *testing.T, c *windowCase) outcome {
	t.Helper()
	s, err := window.Parse(c.ID, &c.Schedule, time.LoadLocation)
	require.NoError(t, err, c.ID)
	got := s.At(c.Now)
	want := openingText(c.Want.Class, c.Want.Open, c.Want.Opens, c.Want.Closes)
	o := outcome{id: c.ID}
	if diff := cmp.Diff(want, openingText(int(got.Class), got.Class == window.Open, &got.Opens, &got.Closes)); diff != "" {
		o.differences = []string{fmt.Sprintf("(%s) at %s: want -, got +\n%s", c.Note, c.Now.Format(time.RFC3339), diff)}
	}
	return o
}

func openingText(class int, open bool, opens, closes *time.Time) map[string]string {
	return map[string]string{
		"class": strconv.Itoa(class), "open": strconv.FormatBool(open),
		"opens": instantText(opens), "closes": instantText(closes),
	}
}

// instantText renders a time for comparison; absent and zero are "never".
func instantText(at *time.Time) string {
	if at == nil || at.IsZero() {
		return "never"
	}
	return at.UTC().Format(time.RFC3339)
}

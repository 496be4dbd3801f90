package conformance

import (
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
	cases, agree := updatesCases[windowCase](t, "windows.jsonl.gz"), 0
	for _, c := range cases {
		s, err := window.Parse(c.ID, &c.Schedule, time.LoadLocation)
		require.NoError(t, err, c.ID)
		got := s.At(c.Now)
		want := openingText(c.Want.Class, c.Want.Open, c.Want.Opens, c.Want.Closes)
		if diff := cmp.Diff(want, openingText(int(got.Class), got.Class == window.Open, &got.Opens, &got.Closes)); diff != "" {
			t.Errorf("%s (%s) at %s: want -, got +\n%s", c.ID, c.Note, c.Now.Format(time.RFC3339), diff)
			continue
		}
		agree++
	}
	t.Logf("windows: %d cases, %d agree", len(cases), agree)
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

package hubd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/reads"
)

func TestWhoseReadsAreRefusedIsToldOnce(t *testing.T) {
	mallory, edge := reads.Held{Object: "member/mallory", Since: time.Unix(1, 0)}, reads.Held{Object: "server/edge", Since: time.Unix(2, 0)}
	later := reads.Held{Object: "member/mallory", Since: time.Unix(9, 0)}
	for name, c := range map[string]struct {
		before, now []reads.Held
		want        []string
	}{
		"nobody":          {},
		"one more":        {nil, []reads.Held{mallory}, []string{"Warning ReadsRefused member/mallory mallory"}},
		"the same":        {[]reads.Held{mallory}, []reads.Held{later}, nil},
		"over":            {[]reads.Held{mallory}, nil, []string{"Normal ReadsAnswered member/mallory mallory"}},
		"one for another": {[]reads.Held{mallory}, []reads.Held{edge}, []string{"Warning ReadsRefused server/edge ", "Normal ReadsAnswered member/mallory mallory"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range readEvents(c.before, c.now) {
				got = append(got, e.Type+" "+e.Reason+" "+e.Object+" "+e.Member)
			}
			require.Equal(t, c.want, got)
		})
	}
}

package bus

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// Messages arrive as they were sent, and what may be too long for a server is no longer than what is stored.
func TestMessagesAreCompressedByTheirLength(t *testing.T) {
	line := `{"clusterName": "member-1", "conditions": [{"type": "Applied", "status": "True"}, {"type": "Available", "status": "False"}]}` + "\n"
	for name, length := range map[string]int{"short": GzipAbove, "quickly": quickBelow, "thoroughly": quickBelow + 1} {
		t.Run(name, func(t *testing.T) {
			text := []byte(strings.Repeat(line, 1+length/len(line))[:length])
			m := nats.NewMsg("to")
			sent, err := compress(m, text)
			require.NoError(t, err)
			if m.Header.Get(headerEncoding) == "" {
				require.Equal(t, GzipAbove, length, "not compressed")
				require.Equal(t, text, sent)
				return
			}
			got, err := gunzip(sent, length)
			require.NoError(t, err)
			require.Equal(t, text, got)
			var stored bytes.Buffer
			require.NoError(t, thorough.gzip(&stored, text))
			require.Equal(t, length > quickBelow, bytes.Equal(stored.Bytes(), sent), "as thoroughly as what is stored")
		})
	}
}

// BenchmarkCompress is what an answer of 80 KB takes about a placement on 200 members.
func BenchmarkCompress(b *testing.B) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, `{"clusterName":"member-%03d","observedResourceIndex":"%d","conditions":[`, i, i*17%91)
		for _, kind := range []string{"Applied", "Available"} {
			fmt.Fprintf(&text, `{"type":%q,"status":"True","observedGeneration":%d,"lastTransitionTime":"2026-11-29T15:%02d:%02dZ","message":"2 objects of the work on this member","reason":"AsExpected"},`, kind, i%3, i*7%60, i*11%60)
		}
	}
	for b.Loop() {
		_, err := compress(nats.NewMsg("to"), []byte(text.String()))
		require.NoError(b, err)
	}
}

package reads

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
)

// Content that was read is kept while it is asked for, of as many bytes as there are, and nothing else is.
func TestContentThatIsReadIsKept(t *testing.T) {
	c := newCache("content")
	answer := func(size int) *nats.Msg { return &nats.Msg{Data: make([]byte, size)} }
	c.keep("content", "a", answer(1<<20))
	require.NotNil(t, c.find("content", "a"))
	require.Nil(t, c.find("content", "b"))
	require.Nil(t, c.find("commands", "a"))
	c.keep("commands", "b", answer(1))
	c.keep("content", "*", answer(1))
	c.keep("content", "missing", &nats.Msg{Header: nats.Header{bus.HeaderStatus: {"404"}}})
	for _, of := range []string{"b", "*", "missing"} {
		require.Nil(t, c.find("content", of), of)
		require.Nil(t, c.find("commands", of), of)
	}
	for i := range 200 {
		c.keep("content", fmt.Sprint(i), answer(1<<20))
		require.NotNil(t, c.find("content", "a"), "it is asked for all the while")
		require.LessOrEqual(t, len(c.young)+len(c.aged), 2*mostCached>>20)
		require.LessOrEqual(t, c.size, mostCached)
	}
	require.Nil(t, c.find("content", "5"))
	c.keep("content", "large", answer(mostCached+1))
	require.NotNil(t, c.find("content", "large"))
}

// Answers of a few bytes take more than these.
func TestSmallContentTakesRoomToo(t *testing.T) {
	c := newCache("content")
	for i := range 100_000 {
		c.keep("content", fmt.Sprint(i), &nats.Msg{Data: []byte("small")})
	}
	require.Less(t, len(c.young)+len(c.aged), 2*mostCached/besideData+1)
}

func TestWhoReads(t *testing.T) {
	for info, want := range map[string]string{
		`{"acc":"A","user":"U","name":"flotilla-agent/oslo","name_tag":"oslo","kind":"Client"}`: "member/oslo",
		`{"acc":"A","name":"x\",\"name_tag\":\"rome","name_tag":"oslo","kind":"Client"}`:        "member/oslo",
		`{"acc":"A","name_tag":"leaf-edge","kind":"Leafnode"}`:                                  "server/edge",
		`{"acc":"A","name":"a\",\"kind\":\"Leafnode","name_tag":"leaf-edge","kind":"Client"}`:   "member/leaf-edge",
		`{"acc":"A"}`: "member/",
		``:            "member/",
	} {
		require.Equal(t, want, objectOf(sender(info)), info)
	}
}

package page

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStreamsOfAPersonAndOfAllAreBounded(t *testing.T) {
	var c crowd
	leave, room := c.enter("anna")
	require.True(t, room)
	for range mostOfOne - 1 {
		_, room = c.enter("anna")
		require.True(t, room)
	}
	_, room = c.enter("anna")
	require.False(t, room, "one more than a person has")
	leave()
	_, room = c.enter("anna")
	require.True(t, room, "after one ended")
	for i := c.all; i < mostStreams; i++ {
		_, room = c.enter(fmt.Sprint(i))
		require.True(t, room)
	}
	_, room = c.enter("bert")
	require.False(t, room, "one more than there are")
}

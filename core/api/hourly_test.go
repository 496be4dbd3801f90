package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHourlyIsANumberOrNull(t *testing.T) {
	for text, h := range map[string]Hourly{"0": {}, "0.192": {Amount: 0.192}, "-0.5": {Amount: -0.5}, "null": {Unknown: true}} {
		raw, err := json.Marshal(struct{ H Hourly }{h})
		require.NoError(t, err)
		require.JSONEq(t, `{"H":`+text+`}`, string(raw))
		back := struct{ H Hourly }{Hourly{Amount: 7}}
		require.NoError(t, json.Unmarshal(raw, &back))
		require.Equal(t, h, back.H)
	}
	var h Hourly
	require.ErrorContains(t, json.Unmarshal([]byte(`"much"`), &h), "reading an amount per hour")

	require.Equal(t, Hourly{Amount: 0.3, Unknown: true}, Hourly{Amount: 0.3}.Plus(Hourly{Unknown: true}))
	require.Equal(t, []string{"0.1920", "unknown"}, []string{Hourly{Amount: 0.192}.String(), Hourly{Unknown: true}.String()})
	require.Equal(t, []string{"0.1920 an hour", "an unknown amount"}, []string{Hourly{Amount: 0.192}.Sentence(), Hourly{Unknown: true}.Sentence()})
}

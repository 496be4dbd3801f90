package main

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/configs"
)

// Records may take 2 GiB, or half of what the process keeps to where that is less, or what is asked for.
func TestWhatRecordsMayTake(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for name, c := range map[string]struct {
		keeps, want int64
		asked       string
	}{
		"by default":                           {keeps: math.MaxInt64, want: 2 << 30},
		"of a process with much":               {keeps: 16 << 30, want: 2 << 30},
		"half of what a process with less has": {keeps: 1 << 30, want: 512 << 20},
		"what is asked for":                    {keeps: math.MaxInt64, asked: "3Gi", want: 3 << 30},
		"what is asked for, whatever there is": {keeps: 1 << 30, asked: "3Gi", want: 3 << 30},
		"any amount":                           {keeps: 1 << 30, asked: "0", want: -1},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetMemoryLimit(c.keeps)
			config := configs.DefaultHub()
			config.RecordsLimit = c.asked
			require.Empty(t, config.Validate())
			require.Equal(t, c.want, options(&config, zerolog.Nop(), func(string) string { return "" }).Disk.Records)
		})
	}
	config := configs.DefaultHub()
	config.RecordsLimit = "much"
	require.ErrorContains(t, config.Validate().Err(), "recordsLimit")
}

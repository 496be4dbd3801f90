package terminal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/configs/terminal"
)

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	l := terminal.Logger(configs.Log{Level: "warn", Format: "json"}, &out)
	l.Info().Msg("quiet")
	l.Warn().Msg("loud")
	require.Equal(t, zerolog.WarnLevel, l.GetLevel())
	require.Contains(t, out.String(), `"message":"loud"`)
	require.NotContains(t, out.String(), "quiet")
	out.Reset()
	text := terminal.Logger(configs.Log{Level: "info", Format: "text"}, &out)
	text.Info().Msg("for people")
	require.NotContains(t, out.String(), "{")
	require.Contains(t, out.String(), "for people")
	require.Equal(t, zerolog.InfoLevel, terminal.Logger(configs.Log{Level: "shrill"}, &out).GetLevel())
}

func TestLogsInAFileHaveNoColours(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	require.NoError(t, err)
	line := terminal.Logger(configs.DefaultAgent().Log, file)
	line.Warn().Msg("hello")
	require.NoError(t, file.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "hello")
	require.NotContains(t, string(text), "\033[")
}

func TestAMistypedFlagIsSuggested(t *testing.T) {
	for args, want := range map[string]string{
		"--membr":         "unknown flag: --membr, did you mean --member? See agent --help",
		"--nothing":       "unknown flag: --nothing; see agent --help",
		"--count=several": `invalid argument "several" for "--count" flag: strconv.ParseInt: parsing "several": invalid syntax; see agent --help`,
	} {
		c := &cobra.Command{Use: "agent", RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
		c.Flags().String("member", "", "")
		c.Flags().Int("count", 0, "")
		c.SetFlagErrorFunc(terminal.SuggestFlag)
		c.SetArgs([]string{args})
		require.EqualError(t, c.Execute(), want)
	}
}

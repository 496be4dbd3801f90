package terminal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// What others wrote cannot command a terminal, nor make lines of its own, wherever it stands in a line of the log.
func TestLinesOfTheLogAreOneLine(t *testing.T) {
	const foreign = "a\x1b[2J\u202eb\r\nERR forged\tc"
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log := terminal.Logger(configs.Log{Level: "info", Format: format}, &out)
		log.Error().Err(errors.New(foreign)).Str("text", foreign).Strs("list", []string{foreign}).Any("any", map[string]string{foreign: foreign}).Msg(foreign)
		log.Info().Msg(`as it is, with "quotes" and umläuts`)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		require.Len(t, lines, 2, "%s: %q", format, out.String())
		require.NotContains(t, lines[0], "\x1b")
		require.NotContains(t, lines[0], "\r")
		if format == "text" { // JSON is read by machines, which keep what it says
			require.NotContains(t, lines[0], "\u202e")
			require.Contains(t, lines[1], `as it is, with "quotes" and umläuts`)
		}
	}
}
